module @"liana" {
  func.func private @"main_1"(
      %0: tensor<f32>,  // divide
      %1: tensor<3x4xf32>,  // variable "w momentum"
      %2: tensor<3x4xf32>,  // input "w gradient"
      %3: tensor<3x4xf32>,  // variable "w momentum"
      %4: tensor<3x4xf32>,  // input "w gradient"
      %5: tensor<3x4xf32>,  // variable "w"
      %6: tensor<i1>  // whether variables change
  ) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
    // constant
    %7 = "stablehlo.constant"() {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
    // multiply
    %8 = "stablehlo.broadcast_in_dim"(%7) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<3x4xf32>
    %9 = "stablehlo.multiply"(%1, %8) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    // add
    %10 = "stablehlo.add"(%9, %2) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %11 = "stablehlo.broadcast_in_dim"(%6) {broadcast_dimensions = array<i64>} : (tensor<i1>) -> tensor<3x4xi1>
    %12 = "stablehlo.select"(%11, %10, %1) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    // constant
    %13 = "stablehlo.constant"() {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
    // multiply
    %14 = "stablehlo.broadcast_in_dim"(%13) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<3x4xf32>
    %15 = "stablehlo.multiply"(%3, %14) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    // add
    %16 = "stablehlo.add"(%15, %4) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    // multiply
    %17 = "stablehlo.broadcast_in_dim"(%0) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<3x4xf32>
    %18 = "stablehlo.multiply"(%16, %17) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    // subtract
    %19 = "stablehlo.subtract"(%5, %18) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %20 = "stablehlo.broadcast_in_dim"(%6) {broadcast_dimensions = array<i64>} : (tensor<i1>) -> tensor<3x4xi1>
    %21 = "stablehlo.select"(%20, %19, %5) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    "func.return"(%12, %21) : (tensor<3x4xf32>, tensor<3x4xf32>) -> ()
  }
  func.func private @"main_2"(
      %22: tensor<f32>,  // divide
      %23: tensor<4xf32>,  // variable "gamma momentum"
      %24: tensor<4xf32>,  // input "gamma gradient"
      %25: tensor<4xf32>,  // variable "gamma momentum"
      %26: tensor<4xf32>,  // input "gamma gradient"
      %27: tensor<4xf32>,  // variable "gamma"
      %28: tensor<4xf32>,  // variable "beta momentum"
      %29: tensor<4xf32>,  // input "beta gradient"
      %30: tensor<4xf32>,  // variable "beta momentum"
      %31: tensor<4xf32>,  // input "beta gradient"
      %32: tensor<4xf32>,  // variable "beta"
      %33: tensor<i1>  // whether variables change
  ) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    // constant
    %34 = "stablehlo.constant"() {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
    // multiply
    %35 = "stablehlo.broadcast_in_dim"(%34) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32>
    %36 = "stablehlo.multiply"(%23, %35) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // add
    %37 = "stablehlo.add"(%36, %24) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %38 = "stablehlo.broadcast_in_dim"(%33) {broadcast_dimensions = array<i64>} : (tensor<i1>) -> tensor<4xi1>
    %39 = "stablehlo.select"(%38, %37, %23) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // constant
    %40 = "stablehlo.constant"() {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
    // multiply
    %41 = "stablehlo.broadcast_in_dim"(%40) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32>
    %42 = "stablehlo.multiply"(%25, %41) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // add
    %43 = "stablehlo.add"(%42, %26) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // multiply
    %44 = "stablehlo.broadcast_in_dim"(%22) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32>
    %45 = "stablehlo.multiply"(%43, %44) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // subtract
    %46 = "stablehlo.subtract"(%27, %45) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %47 = "stablehlo.broadcast_in_dim"(%33) {broadcast_dimensions = array<i64>} : (tensor<i1>) -> tensor<4xi1>
    %48 = "stablehlo.select"(%47, %46, %27) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // constant
    %49 = "stablehlo.constant"() {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
    // multiply
    %50 = "stablehlo.broadcast_in_dim"(%49) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32>
    %51 = "stablehlo.multiply"(%28, %50) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // add
    %52 = "stablehlo.add"(%51, %29) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %53 = "stablehlo.broadcast_in_dim"(%33) {broadcast_dimensions = array<i64>} : (tensor<i1>) -> tensor<4xi1>
    %54 = "stablehlo.select"(%53, %52, %28) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // constant
    %55 = "stablehlo.constant"() {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
    // multiply
    %56 = "stablehlo.broadcast_in_dim"(%55) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32>
    %57 = "stablehlo.multiply"(%30, %56) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // add
    %58 = "stablehlo.add"(%57, %31) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // multiply
    %59 = "stablehlo.broadcast_in_dim"(%22) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32>
    %60 = "stablehlo.multiply"(%58, %59) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // subtract
    %61 = "stablehlo.subtract"(%32, %60) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %62 = "stablehlo.broadcast_in_dim"(%33) {broadcast_dimensions = array<i64>} : (tensor<i1>) -> tensor<4xi1>
    %63 = "stablehlo.select"(%62, %61, %32) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%39, %48, %54, %63) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> ()
  }
  func.func public @"main"(
      %64: tensor<f32>,  // input "rate"
      %65: tensor<3x4xf32>,  // input "w gradient"
      %66: tensor<4xf32>,  // input "gamma gradient"
      %67: tensor<4xf32>,  // input "beta gradient"
      %68: tensor<f32>,  // variable "counter"
      %69: tensor<3x4xf32>,  // variable "w"
      %70: tensor<3x4xf32>,  // variable "w momentum"
      %71: tensor<3x4xf32>,  // variable "copy"
      %72: tensor<4xf32>,  // variable "gamma"
      %73: tensor<4xf32>,  // variable "gamma momentum"
      %74: tensor<4xf32>,  // variable "beta"
      %75: tensor<4xf32>,  // variable "beta momentum"
      %76: tensor<i1>  // whether variables change
  ) -> (tensor<f32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    // constant
    %77 = "stablehlo.constant"() {value = dense<1.000000e+00> : tensor<f32>} : () -> tensor<f32>
    // add
    %78 = "stablehlo.add"(%68, %77) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %79 = "stablehlo.select"(%76, %78, %68) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    // divide
    %80 = "stablehlo.divide"(%64, %79) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %81, %82 = "func.call"(%80, %70, %65, %70, %65, %69, %76) {callee = @main_1, mhlo.frontend_attributes = {inlineable = "false"}} : (tensor<f32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<i1>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
    %83, %84, %85, %86 = "func.call"(%80, %73, %66, %73, %66, %72, %75, %67, %75, %67, %74, %76) {callee = @main_2, mhlo.frontend_attributes = {inlineable = "false"}} : (tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    %87 = "stablehlo.broadcast_in_dim"(%76) {broadcast_dimensions = array<i64>} : (tensor<i1>) -> tensor<3x4xi1>
    %88 = "stablehlo.select"(%87, %69, %71) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    "func.return"(%79, %81, %82, %88, %83, %84, %85, %86) : (tensor<f32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> ()
  }
}
