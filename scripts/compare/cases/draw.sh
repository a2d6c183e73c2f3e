# Draws the data of all cases; runs once, with the base's command.
liana synth flowers classes=5 images=150 image_size=40 shards=3 --out flowers
mkdir tables
awk 'BEGIN {
    srand(7)
    for (i = 0; i < 240; i++) {
        file = i < 180 ? "tables/train.csv" : "tables/test.csv"
        if (i == 0 || i == 180) print "id,width,height,kind,weight,label,price" >file
        w = int(rand() * 1000) / 100
        h = int(rand() * 1000) / 100
        k = substr("abc", 1 + int(rand() * 3), 1)
        price = w * 2 - h + (k == "b")
        printf "%d,%.2f,%.2f,%s,%.1f,%d,%.3f\n", i, w, h, k, 0.5 + i % 4, (w > h) + (k == "c"), price >file
    }
}'
awk 'BEGIN {
    srand(3)
    for (i = 0; i < 240; i++) {
        a = int(rand() * 2000 - 1000) / 1000
        b = int(rand() * 2000 - 1000) / 1000
        print a, b, a * b + a / 2 >(i < 200 ? "tables/train.numbers" : "tables/test.numbers")
    }
}'
awk 'BEGIN {
    srand(5)
    split("red round sweet sour green flat long thin", words, " ")
    print "id,text,label" >"tables/words.csv"
    for (i = 0; i < 130; i++) {
        text = ""
        n = 2 + int(rand() * 6)
        for (j = 0; j < n; j++) text = text (j ? " " : "") words[1 + int(rand() * 8)]
        print i "," text "," (text ~ /sweet/) >"tables/words.csv"
    }
}'
find . -exec touch -d 2026-01-01T00:00:00Z {} +
