/* Predicts raw pixels with an exported model: frames of a camera, 640 x 480, red, green and blue, from standard input.
 * After `make install`:
 *
 *     liana export runs/flowers --to flowers
 *     cc embed.c -o embed $(pkg-config --cflags --libs liana)
 *     ffmpeg -i /dev/video0 -s 640x480 -pix_fmt rgb24 -f rawvideo - | ./embed flowers
 *
 * Nothing is allocated in the loop. */
#include <liana/liana.h>

#include <stdio.h>

enum { WIDTH = 640, HEIGHT = 480, MOST_CLASSES = 1000 };

int main(int argc, char **argv)
{
    static unsigned char frame[HEIGHT][WIDTH][3];
    static float probabilities[MOST_CLASSES];
    const liana_pixels pixels = {frame[0][0], HEIGHT, WIDTH, 3, 0};
    liana_context *context;
    liana_predictor *predictor = NULL;
    if (argc != 2) return fprintf(stderr, "usage: embed FOLDER <FRAMES\n"), 2;
    if (liana_context_create(NULL, &context) != LIANA_OK ||
        liana_predictor_open(context, argv[1], NULL, &predictor) != LIANA_OK) {
        return fprintf(stderr, "%s\n", liana_context_message(context)), 1;
    }
    const liana_predictor_port classes = liana_predictor_output(predictor, 0);
    if (classes.num_values > MOST_CLASSES) return fprintf(stderr, "the model has too many classes\n"), 1;
    while (fread(frame, sizeof frame, 1, stdin) == 1) {
        if (liana_predictor_run_images(predictor, &pixels, 1, probabilities) != LIANA_OK) {
            return fprintf(stderr, "%s\n", liana_predictor_message(predictor)), 1;
        }
        int best = 0;
        for (int i = 1; i < classes.num_values; i++) best = probabilities[i] > probabilities[best] ? i : best;
        printf("%s %.4f\n", classes.class_names ? classes.class_names[best] : "?", (double)probabilities[best]);
    }
    liana_predictor_close(predictor);
    liana_context_destroy(context);
    return 0;
}
