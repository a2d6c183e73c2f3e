#!/bin/sh
# Writes the manual page liana(1) to standard output, from the command's own help.
#   scripts/manual.sh COMMAND
set -eu
liana=$1

# Text as it stands: no filling, no escapes, no requests.
verbatim() {
    echo '.nf'
    sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\([.']\)/\\\\\&\1/"
    echo '.fi'
}

version=$("$liana" version)
cat <<TEXT
.TH LIANA 1 "" "$version" "User Commands"
.SH NAME
liana \- train and fine-tune image classifiers
.SH SYNOPSIS
.B liana
.I SUBCOMMAND
\&...
.SH DESCRIPTION
TEXT
"$liana" help | verbatim
echo '.SH SUBCOMMANDS'
for name in $("$liana" help | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
    echo ".SS liana $name"
    "$liana" help "$name" | verbatim
done
echo '.SH ENVIRONMENT'
"$liana" list environment | verbatim
cat <<'TEXT'
.SH EXIT STATUS
.TP
0
done
.TP
1
failed
.TP
2
the command line or the configuration is wrong
.TP
128+\fIn\fR
stopped by signal \fIn\fR
.SH SEE ALSO
README.md, docs/ and examples/ in the folder of liana's documents (share/doc/liana).
TEXT
