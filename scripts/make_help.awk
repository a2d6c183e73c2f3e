# Prints the targets of a Makefile in groups. `NAME: ## GROUP: what it does` is a target; groups come in the order in which
# their first targets stand.
#   awk -f scripts/make_help.awk Makefile
/^[a-z0-9-]+:.*## / {
    name = $1
    sub(/:.*/, "", name)
    text = $0
    sub(/^[^#]*## /, "", text)
    group = text
    sub(/: .*/, "", group)
    sub(/^[^:]*: /, "", text)
    if (!(group in lines)) order[++groups] = group
    lines[group] = lines[group] wrapped(sprintf("  make %-18s ", name), text)
}

# The text after its beginning, in lines of 100 characters at most.
function wrapped(line, text,    count, words, i, all, margin) {
    margin = sprintf("%" length(line) "s", "")
    count = split(text, words, " ")
    for (i = 1; i <= count; i++) {
        if (length(line) + length(words[i]) > 100 && line != margin) {
            sub(/ $/, "", line)
            all = all line "\n"
            line = margin
        }
        line = line words[i] (i < count ? " " : "")
    }
    return all line "\n"
}

END {
    for (i = 1; i <= groups; i++) printf "%s%s\n%s", (i > 1 ? "\n" : ""), order[i], lines[order[i]]
}
