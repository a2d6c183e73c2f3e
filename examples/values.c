/* Trying things out: values of expressions, indexing, gradients, and a walk through a graph. After `make install`:
 *
 *     cc values.c -o values $(pkg-config --cflags --libs liana)
 *     ./values */
#include <liana/liana.h>

#include <stdio.h>

enum { MOST = 6 };

static liana_status print_row(const char *what, liana_tensor tensor)
{
    float row[MOST];
    liana_shape shape = liana_tensor_shape(tensor);
    int64_t count = liana_shape_size(&shape);
    LIANA_TRY(liana_value(tensor, row, (size_t)(count < MOST ? count : MOST) * sizeof *row));
    printf("%s:", what);
    for (int64_t i = 0; i < count; i++) printf(" %g", (double)row[i]);
    printf("\n");
    return LIANA_OK;
}

static void print_nodes(const liana_graph *graph)
{
    for (size_t i = 0; i < liana_graph_count(graph, LIANA_GRAPH_NODES); i++) {
        liana_tensor node = liana_graph_nth(graph, LIANA_GRAPH_NODES, i).tensor;
        liana_attribute attribute;
        printf("%s %s", liana_tensor_info(node).op, liana_tensor_name(node) ? liana_tensor_name(node) : "");
        if (liana_tensor_find_attribute(node, "strides", &attribute)) {
            printf(" strides");
            for (size_t k = 0; k < attribute.num_ints; k++) printf(" %d", (int)attribute.ints[k]);
        }
        printf("\n");
    }
}

static liana_status try_out(liana_graph *graph)
{
    float numbers[] = {1, 2, 3, 4, 5, 6};
    liana_tensor x = liana_graph_constant(graph, LIANA_F32, liana_shape_of(2, 3), numbers), slope;
    printf("sum of squares %g\n", liana_number(liana_op_reduce_sum(liana_op_square(x), LIANA_ALL_AXES, false)));

    liana_tensor part = liana_tensor_set_name(liana_index(x, "::-1, 1:"), "part");
    LIANA_TRY(print_row("x[::-1, 1:]", part));

    liana_gradients(liana_op_multiply(part, part), &x, 1, &slope);
    LIANA_TRY(print_row("its slope", slope));
    print_nodes(graph);
    return liana_graph_status(graph);
}

int main(void)
{
    liana_context *context;
    liana_graph *graph = NULL;
    liana_status status = liana_context_create(NULL, &context);
    if (status == LIANA_OK) status = liana_graph_create(context, &graph);
    if (status == LIANA_OK) status = try_out(graph);
    if (status != LIANA_OK) {
        fprintf(stderr, "%s: %s\n", liana_status_name(status), context ? liana_context_message(context) : "");
    }
    liana_graph_destroy(graph);
    liana_context_destroy(context);
    return status != LIANA_OK;
}
