"""Layers that join several layers."""

MASKED = {"shape": (4, 3), "masked": True}
TWO = [[(4,), (4,)], [(4, 3), (1, 3)], [(5, 4, 3), (4, 3)], [MASKED, MASKED], [MASKED, (4, 3)], [(4, 3), (3,)]]
MORE = TWO + [[(4, 3), (4, 1), (1, 3)], [(2,), (2,), (2,), (2,)], [MASKED, MASKED, MASKED], [(4, 3), MASKED, MASKED]]

LAYERS = {
    "Add": {"inputs": MORE},
    "Subtract": {"inputs": TWO},
    "Multiply": {"inputs": MORE},
    "Average": {"inputs": MORE},
    "Maximum": {"inputs": MORE},
    "Minimum": {"inputs": MORE},
    "Concatenate": {"inputs": [[(4, 3), (4, 3)], [(2, 3, 5), (2, 3, 5), (2, 3, 5)], [MASKED, MASKED], [MASKED, (4, 3)],
                               [(4, 2), (4, 3)], [(3, 2), (5, 2)], [(4,), (7,)]],
                    "arguments": {"axis": [-1, 1, 2, -2]}},
    "Dot": {"inputs": [[(4,), (4,)], [(3, 4), (5, 4)], [(4, 3), (4,)], [(4,), (4, 6)], [(4, 3), (4, 3)],
                       [(2, 3, 4), (3, 4, 2)], [(3, 5), (6, 3)], [MASKED, MASKED]],
            "arguments": {"axes": [-1, 1, (1, 2), (2, 1), (-1, -2), (3, 2)], "normalize": [False, True]}},
}
