#!/bin/sh
# The checks of pages in a browser (tests/browser/) see what they are to see: a good page passes, and each kind of bad
# page is caught, with its reason.
set -eu
cd "$(dirname "$0")/../.."
. tests/checks/needs.sh
need_browser
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# page NAME BODY: a page that is good but for its body
page() {
    cat >"$folder/$1.html" <<PAGE
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>$1</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><main><h1>A page</h1>$2</main></body></html>
PAGE
}
must_fail() { # NAME BODY REASON
    page "$1" "$2"
    if node tests/browser/look.js "$folder/$1.html" >"$folder/said" 2>&1; then
        echo "test_browser.sh: not caught: $2" >&2
        exit 1
    fi
    if ! grep -qF -- "$3" "$folder/said"; then
        echo "test_browser.sh: expected '$3', got:" >&2
        cat "$folder/said" >&2
        exit 1
    fi
}

page good '<p>It says something.</p><button>Go</button>'
LIANA_SCREENSHOTS=$folder node tests/browser/look.js "$folder/good.html"
for view in wide phone dark print; do
    head -c 4 "$folder/good-$view.png" | grep -q PNG || { echo "test_browser.sh: no picture $view" >&2; exit 1; }
done
must_fail console '<script>console.error("a word in the console")</script>' 'a word in the console'
must_fail thrown '<script>missing.thing = 1</script>' 'missing is not defined'
must_fail network '<script src="http://127.0.0.1:9/x.js"></script>' 'asks for http://127.0.0.1:9/x.js'
must_fail unnamed '<button><svg width="9" height="9"></svg></button>' 'button-name (critical)'
must_fail faint '<p style="color: #ccc; background: #fff">Hardly to be read.</p>' 'color-contrast (serious)'
must_fail wide '<p style="width: 900px">Wide.</p>' 'scrolls sideways on a phone'
echo "every bad page is caught"
