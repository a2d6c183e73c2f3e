# Completion of liana's subcommands, options and files in bash: sourced, or installed where bash-completion looks.
_liana() {
    local command=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} words
    if [ "$COMP_CWORD" -eq 1 ] || [[ ${COMP_WORDS[1]} == help && $COMP_CWORD -eq 2 && $word != -* ]]; then
        words=$("$command" help 2>/dev/null | sed -n 's/^  \([a-z-]*\) .*/\1/p')
    elif [[ $word == -* ]]; then
        words=$("$command" help "${COMP_WORDS[1]}" 2>/dev/null | sed -n 's/^  \(-[A-Za-z0-9-]*\).*/\1/p')
    elif [[ ${COMP_WORDS[1]} == list && $COMP_CWORD -eq 2 ]]; then
        words=$("$command" list 2>/dev/null | sed -n 's/^ *\([a-z_]*\) .*/\1/p')
    else
        return 0
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _liana liana
