module @"liana" {
  func.func public @"main"(
      %0: tensor<2x3xf32>,  // input "x"
      %1: tensor<3x4xf32>,  // variable "w"
      %2: tensor<4xf32>  // variable "b"
  ) -> (tensor<2x4xf32>, tensor<4xf32>) {
    // matmul
    %3 = "stablehlo.dot_general"(%0, %1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    // add
    %4 = "stablehlo.broadcast_in_dim"(%2) {broadcast_dimensions = array<i64: 1>} : (tensor<4xf32>) -> tensor<2x4xf32>
    %5 = "stablehlo.add"(%3, %4) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    // relu
    %6 = "stablehlo.constant"() {value = dense<0.000000e+00> : tensor<2x4xf32>} : () -> tensor<2x4xf32>
    %7 = "stablehlo.maximum"(%5, %6) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    // constant
    %8 = "stablehlo.constant"() {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
    // multiply
    %9 = "stablehlo.broadcast_in_dim"(%8) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32>
    %10 = "stablehlo.multiply"(%2, %9) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%7, %10) : (tensor<2x4xf32>, tensor<4xf32>) -> ()
  }
}
