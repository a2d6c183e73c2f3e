module @"liana" {
  func.func public @"main"(
      %0: tensor<f32>,  // input "rate"
      %1: tensor<3x4xf32>,  // input "w gradient"
      %2: tensor<4xf32>,  // input "gamma gradient"
      %3: tensor<4xf32>,  // input "beta gradient"
      %4: tensor<f32>,  // variable "counter"
      %5: tensor<3x4xf32>,  // variable "w"
      %6: tensor<3x4xf32>,  // variable "w momentum"
      %7: tensor<3x4xf32>,  // variable "copy"
      %8: tensor<4xf32>,  // variable "gamma"
      %9: tensor<4xf32>,  // variable "gamma momentum"
      %10: tensor<4xf32>,  // variable "beta"
      %11: tensor<4xf32>,  // variable "beta momentum"
      %12: tensor<i1>  // whether variables change
  ) -> (tensor<f32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    // constant
    %13 = "stablehlo.constant"() {value = dense<1.000000e+00> : tensor<f32>} : () -> tensor<f32>
    // add
    %14 = "stablehlo.add"(%4, %13) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %15 = "stablehlo.select"(%12, %14, %4) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    // divide
    %16 = "stablehlo.divide"(%0, %15) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    // constant
    %17 = "stablehlo.constant"() {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
    // multiply
    %18 = "stablehlo.broadcast_in_dim"(%17) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<3x4xf32>
    %19 = "stablehlo.multiply"(%6, %18) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    // add
    %20 = "stablehlo.add"(%19, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %21 = "stablehlo.broadcast_in_dim"(%12) {broadcast_dimensions = array<i64>} : (tensor<i1>) -> tensor<3x4xi1>
    %22 = "stablehlo.select"(%21, %20, %6) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    // multiply
    %23 = "stablehlo.broadcast_in_dim"(%16) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<3x4xf32>
    %24 = "stablehlo.multiply"(%22, %23) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    // subtract
    %25 = "stablehlo.subtract"(%5, %24) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %26 = "stablehlo.broadcast_in_dim"(%12) {broadcast_dimensions = array<i64>} : (tensor<i1>) -> tensor<3x4xi1>
    %27 = "stablehlo.select"(%26, %25, %5) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    // multiply
    %28 = "stablehlo.broadcast_in_dim"(%17) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32>
    %29 = "stablehlo.multiply"(%9, %28) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // add
    %30 = "stablehlo.add"(%29, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %31 = "stablehlo.broadcast_in_dim"(%12) {broadcast_dimensions = array<i64>} : (tensor<i1>) -> tensor<4xi1>
    %32 = "stablehlo.select"(%31, %30, %9) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // multiply
    %33 = "stablehlo.broadcast_in_dim"(%16) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32>
    %34 = "stablehlo.multiply"(%32, %33) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // subtract
    %35 = "stablehlo.subtract"(%8, %34) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %36 = "stablehlo.broadcast_in_dim"(%12) {broadcast_dimensions = array<i64>} : (tensor<i1>) -> tensor<4xi1>
    %37 = "stablehlo.select"(%36, %35, %8) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // multiply
    %38 = "stablehlo.broadcast_in_dim"(%17) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32>
    %39 = "stablehlo.multiply"(%11, %38) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // add
    %40 = "stablehlo.add"(%39, %3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %41 = "stablehlo.broadcast_in_dim"(%12) {broadcast_dimensions = array<i64>} : (tensor<i1>) -> tensor<4xi1>
    %42 = "stablehlo.select"(%41, %40, %11) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // multiply
    %43 = "stablehlo.broadcast_in_dim"(%16) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32>
    %44 = "stablehlo.multiply"(%42, %43) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // subtract
    %45 = "stablehlo.subtract"(%10, %44) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %46 = "stablehlo.broadcast_in_dim"(%12) {broadcast_dimensions = array<i64>} : (tensor<i1>) -> tensor<4xi1>
    %47 = "stablehlo.select"(%46, %45, %10) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %48 = "stablehlo.broadcast_in_dim"(%12) {broadcast_dimensions = array<i64>} : (tensor<i1>) -> tensor<3x4xi1>
    %49 = "stablehlo.select"(%48, %5, %7) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    "func.return"(%15, %22, %27, %49, %32, %37, %42, %47) : (tensor<f32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> ()
  }
}
