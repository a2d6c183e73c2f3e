/* liana completion: the scripts that make shells complete liana's command lines. They ask the command itself for words,
 * so they are the same for every version. */
#include "cli/command.h"
#include "cli/completion/complete.h"

#include <string.h>

/* bash cuts words at '=' and ':', so they are put together again; of an answer only what stands after the last of them
 * is taken. */
static const char bash[] =
    "# Completion of liana's command lines in bash: sourced, or where bash-completion looks for it.\n"
    "_liana() {\n"
    "    local rest=${COMP_LINE:0:COMP_POINT} piece word line files ending prefix cut path IFS=$'\\n'\n"
    "    local -a words=() lines=()\n"
    "    for piece in \"${COMP_WORDS[@]:0:COMP_CWORD+1}\"; do\n"
    "        if ((${#words[@]})) && [[ -n $piece && $rest != [[:space:]]* ]]; then\n"
    "            words[-1]+=$piece\n"
    "        else\n"
    "            words+=(\"$piece\")\n"
    "            rest=${rest#\"${rest%%[![:space:]]*}\"}\n"
    "        fi\n"
    "        rest=${rest#\"$piece\"}\n"
    "    done\n"
    "    word=${words[-1]}\n"
    "    mapfile -t lines < <(\"${words[0]/#\\~/$HOME}\" completion words -- \"${words[@]:1}\" 2>/dev/null)\n"
    "    ((${#lines[@]})) || return 0\n"
    "    files=${lines[0]%%$'\\t'*} prefix=${lines[0]##*$'\\t'}\n"
    "    ending=${lines[0]#*$'\\t'} ending=${ending%%$'\\t'*}\n"
    "    cut=${word%\"${word##*[=:]}\"}\n"
    "    COMPREPLY=()\n"
    "    for line in \"${lines[@]:1}\"; do\n"
    "        line=${line%%$'\\t'*}\n"
    "        COMPREPLY+=(\"${line#\"$cut\"}\")\n"
    "    done\n"
    "    if [[ ${#COMPREPLY[@]} -ge 1 && ${COMPREPLY[0]} == *[=./] ]]; then compopt -o nospace 2>/dev/null; fi\n"
    "    [[ $files == none ]] && return 0\n"
    "    if ((${#COMPREPLY[@]} == 0)); then compopt -o filenames 2>/dev/null; fi\n"
    "    path=${word#\"$prefix\"} cut=${path%\"${path##*[=:]}\"}\n"
    "    for line in $(compgen -d -- \"$path\"); do COMPREPLY+=(\"${line#\"$cut\"}/\"); done\n"
    "    if [[ $files == files ]]; then\n"
    "        for line in $(compgen -f -- \"$path\"); do\n"
    "            if [[ $line == *\"$ending\" && ! -d ${line/#\\~/$HOME} ]]; then COMPREPLY+=(\"${line#\"$cut\"}\"); "
    "fi\n"
    "        done\n"
    "    fi\n"
    "    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then compopt -o nospace 2>/dev/null; fi\n"
    "}\n"
    "complete -F _liana liana\n";

static const char zsh[] = "#compdef liana\n"
                          "# Completion of liana's command lines in zsh: a file _liana in a folder of fpath.\n"
                          "_liana() {\n"
                          "    local command=${(Q)words[1]} line name\n"
                          "    local -a lines fields whole open\n"
                          "    lines=(\"${(@f)$(${~command} completion words -- \"${(@Q)words[2,CURRENT-1]}\" "
                          "\"${(Q)PREFIX}\" 2>/dev/null)}\")\n"
                          "    (( ${#lines} )) || return 1\n"
                          "    fields=(\"${(@ps:\\t:)lines[1]}\")\n"
                          "    for line in \"${(@)lines[2,-1]}\"; do\n"
                          "        name=${line%%$'\\t'*}\n"
                          "        line=${name//:/\\\\:}:${line#*$'\\t'}\n"
                          "        if [[ $name == *[=./] ]]; then open+=(\"$line\"); else whole+=(\"$line\"); fi\n"
                          "    done\n"
                          "    (( ${#whole} )) && _describe -t words liana whole\n"
                          "    (( ${#open} )) && _describe -t keys liana open -S ''\n"
                          "    [[ -n ${fields[3]} ]] && compset -P \"${(b)fields[3]}\"\n"
                          "    case ${fields[1]} in\n"
                          "    files) _files -g \"*${fields[2]}(-.)\" ;;\n"
                          "    folders) _files -/ ;;\n"
                          "    esac\n"
                          "}\n"
                          "if [[ $funcstack[1] == _liana ]]; then _liana \"$@\"; else compdef _liana liana; fi\n";

static const char fish[] =
    "# Completion of liana's command lines in fish: sourced, or liana.fish where fish looks for completions.\n"
    "function __liana_complete\n"
    "    set -l words (commandline -opc)\n"
    "    set -l word (commandline -ct)\n"
    "    set -l lines ($words[1] completion words -- $words[2..] \"$word\" 2>/dev/null)\n"
    "    set -l fields (string split \\t -- $lines[1])\n"
    "    for line in $lines[2..]\n"
    "        echo $line\n"
    "    end\n"
    "    set -l path (string sub -s (math (string length -- \"$fields[3]\") + 1) -- \"$word\")\n"
    "    switch \"$fields[1]\"\n"
    "        case files\n"
    "            for found in (complete -C \"'' $path\")\n"
    "                set -l name (string split \\t -- $found)[1]\n"
    "                if string match -q -- '*/' $name; or string match -q -- \"*$fields[2]\" $name\n"
    "                    echo $fields[3]$name\n"
    "                end\n"
    "            end\n"
    "        case folders\n"
    "            for found in (__fish_complete_directories \"$path\")\n"
    "                echo $fields[3]$found\n"
    "            end\n"
    "    end\n"
    "end\n"
    "complete -c liana -f -a '(__liana_complete)'\n";

static const struct {
    const char *shell, *script;
} scripts[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

static liana_status run(liana__invocation *invocation)
{
    const char *asked = invocation->operands[0];
    if (strcmp(asked, "words") == 0) {
        liana__complete(invocation->operands + 1, invocation->num_operands - 1, &invocation->arena, invocation->out);
        return LIANA_OK;
    }
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts && invocation->num_operands == 1; i++) {
        if (strcmp(asked, scripts[i].shell) != 0) continue;
        fputs(scripts[i].script, invocation->out);
        return LIANA_OK;
    }
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                       "completion: found '%.60s', expected one of bash, zsh and fish, or words and a command line",
                       invocation->num_operands == 1 ? asked : invocation->operands[1]);
}

const liana__command liana__subcommand_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish|words [WORD ...]",
    .summary = "Print a script with which a shell completes command lines",
    .help =
        "Installed packages have the scripts where the shells look for them. From another place:\n"
        "  bash  source <(liana completion bash)                       in ~/.bashrc\n"
        "  zsh   source <(liana completion zsh)                        in ~/.zshrc, after compinit\n"
        "  fish  liana completion fish > ~/.config/fish/completions/liana.fish\n"
        "'liana completion words -- WORD ...' prints what may stand for the last WORD: subcommands, options, keys,\n"
        "names of models, layers, devices, runs and checkpoints. The scripts call it.\n",
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
