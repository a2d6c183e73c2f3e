# A program that runs beside a script: a server, or a training. A script reads this file with ".", starts the program with
# "&" and sets `beside` to its number. `folder` is for its files; both end with the script.
folder=$(mktemp -d)
beside=
end_beside() {
    [ -z "$beside" ] || kill "$beside" 2>/dev/null || true
    wait
    rm -rf "$folder"
}
trap end_beside EXIT

# Waits until the program writes a line that begins with PREFIX into FILE, and prints what is behind it.
wait_for_line() { # PREFIX FILE
    tries=0
    until grep -qs "^$1" "$2"; do
        tries=$((tries + 1))
        if [ $tries -gt 600 ] || ! kill -0 "$beside" 2>/dev/null; then
            cat "$2" >&2
            return 1
        fi
        sleep 0.1
    done
    sed -n "s/^$1//p" "$2"
}
