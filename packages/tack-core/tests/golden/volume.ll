declare float @llvm.fma.f32(float, float, float)
declare i32 @llvm.smin.i32(i32, i32)
define i64 @enter(ptr %pack) nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %3 = getelementptr inbounds i64, ptr %pack, i64 2
  %4 = load ptr, ptr %3
  %5 = getelementptr inbounds i64, ptr %pack, i64 3
  %6 = load ptr, ptr %5
  %7 = getelementptr inbounds i64, ptr %pack, i64 4
  %8 = load ptr, ptr %7
  %9 = getelementptr inbounds i64, ptr %pack, i64 5
  %10 = load i64, ptr %9
  %11 = icmp slt i64 0, %10
  %12 = sub i64 %10, 0
  %13 = sub i64 %12, 1
  %14 = add i64 %13, 1
  %15 = select i1 %11, i64 %14, i64 0
  %16 = getelementptr inbounds i64, ptr %pack, i64 6
  store i64 0, ptr %16
  %17 = getelementptr inbounds i64, ptr %pack, i64 7
  store i64 %15, ptr %17
  %18 = getelementptr inbounds i64, ptr %pack, i64 8
  store i64 1, ptr %18
  %19 = icmp slt i64 %15, 0
  br i1 %19, label %refused, label %checked1
checked1:
  %20 = icmp eq i64 %15, 0
  br i1 %20, label %none, label %prologue
prologue:
  ret i64 %15
none:
  ret i64 0
zero:
  ret i64 -1
refused:
  ret i64 -2
}

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias readonly captures(none) %v_tex, ptr noalias readonly captures(none) %v_u, ptr noalias readonly captures(none) %v_v, ptr noalias readonly captures(none) %v_w, ptr noalias captures(none) %v_out) noinline nounwind {
entry:
  %v__texel_30_.at = alloca float
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %1 = getelementptr inbounds float, ptr %v_u, i64 %n
  %2 = load float, ptr %1, align 1
  %3 = fcmp oge float %2, 0x0000000000000000
  br i1 %3, label %then1, label %end1
then1:
  %4 = getelementptr inbounds float, ptr %v_u, i64 %n
  %5 = load float, ptr %4, align 1
  %6 = call float @llvm.fma.f32(float %5, float 0x4010000000000000, float 0xBFE0000000000000)
  %7 = fcmp ogt float %6, 0x0000000000000000
  %8 = select i1 %7, float %6, float 0x0000000000000000
  %9 = fcmp olt float %8, 0x4008000000000000
  %10 = select i1 %9, float %8, float 0x4008000000000000
  %11 = fcmp ogt float %10, 0xC1E0000000000000
  %12 = select i1 %11, float %10, float 0xC1E0000000000000
  %13 = fcmp olt float %12, 0x41DFFFFFE0000000
  %14 = select i1 %13, float %12, float 0x41DFFFFFE0000000
  %15 = fptosi float %14 to i32
  %16 = fcmp ogt float %10, 0x41DFFFFFE0000000
  %17 = select i1 %16, i32 2147483647, i32 %15
  %18 = fcmp uno float %10, %10
  %19 = select i1 %18, i32 0, i32 %17
  %20 = sitofp i32 %19 to float
  %21 = fsub float %10, %20
  %22 = add i32 %19, 1
  %23 = call i32 @llvm.smin.i32(i32 %22, i32 3)
  %24 = getelementptr inbounds float, ptr %v_v, i64 %n
  %25 = load float, ptr %24, align 1
  %26 = call float @llvm.fma.f32(float %25, float 0x4008000000000000, float 0xBFE0000000000000)
  %27 = fcmp ogt float %26, 0x0000000000000000
  %28 = select i1 %27, float %26, float 0x0000000000000000
  %29 = fcmp olt float %28, 0x4000000000000000
  %30 = select i1 %29, float %28, float 0x4000000000000000
  %31 = fcmp ogt float %30, 0xC1E0000000000000
  %32 = select i1 %31, float %30, float 0xC1E0000000000000
  %33 = fcmp olt float %32, 0x41DFFFFFE0000000
  %34 = select i1 %33, float %32, float 0x41DFFFFFE0000000
  %35 = fptosi float %34 to i32
  %36 = fcmp ogt float %30, 0x41DFFFFFE0000000
  %37 = select i1 %36, i32 2147483647, i32 %35
  %38 = fcmp uno float %30, %30
  %39 = select i1 %38, i32 0, i32 %37
  %40 = sitofp i32 %39 to float
  %41 = fsub float %30, %40
  %42 = add i32 %39, 1
  %43 = call i32 @llvm.smin.i32(i32 %42, i32 2)
  %44 = getelementptr inbounds float, ptr %v_w, i64 %n
  %45 = load float, ptr %44, align 1
  %46 = call float @llvm.fma.f32(float %45, float 0x4000000000000000, float 0xBFE0000000000000)
  %47 = fcmp ogt float %46, 0x0000000000000000
  %48 = select i1 %47, float %46, float 0x0000000000000000
  %49 = fcmp olt float %48, 0x3FF0000000000000
  %50 = select i1 %49, float %48, float 0x3FF0000000000000
  %51 = fcmp ogt float %50, 0xC1E0000000000000
  %52 = select i1 %51, float %50, float 0xC1E0000000000000
  %53 = fcmp olt float %52, 0x41DFFFFFE0000000
  %54 = select i1 %53, float %52, float 0x41DFFFFFE0000000
  %55 = fptosi float %54 to i32
  %56 = fcmp ogt float %50, 0x41DFFFFFE0000000
  %57 = select i1 %56, i32 2147483647, i32 %55
  %58 = fcmp uno float %50, %50
  %59 = select i1 %58, i32 0, i32 %57
  %60 = sitofp i32 %59 to float
  %61 = fsub float %50, %60
  %62 = add i32 %59, 1
  %63 = call i32 @llvm.smin.i32(i32 %62, i32 1)
  %64 = mul i32 %59, 12
  %65 = mul i32 %39, 4
  %66 = add i32 %64, %65
  %67 = mul i32 %59, 12
  %68 = mul i32 %43, 4
  %69 = add i32 %67, %68
  %70 = add i32 %66, %19
  %71 = sext i32 %70 to i64
  %72 = getelementptr inbounds float, ptr %v_tex, i64 %71
  %73 = load float, ptr %72, align 1
  %74 = add i32 %66, %23
  %75 = sext i32 %74 to i64
  %76 = getelementptr inbounds float, ptr %v_tex, i64 %75
  %77 = load float, ptr %76, align 1
  %78 = add i32 %69, %19
  %79 = sext i32 %78 to i64
  %80 = getelementptr inbounds float, ptr %v_tex, i64 %79
  %81 = load float, ptr %80, align 1
  %82 = add i32 %69, %23
  %83 = sext i32 %82 to i64
  %84 = getelementptr inbounds float, ptr %v_tex, i64 %83
  %85 = load float, ptr %84, align 1
  %86 = mul i32 %63, 12
  %87 = mul i32 %39, 4
  %88 = add i32 %86, %87
  %89 = mul i32 %63, 12
  %90 = mul i32 %43, 4
  %91 = add i32 %89, %90
  %92 = add i32 %88, %19
  %93 = sext i32 %92 to i64
  %94 = getelementptr inbounds float, ptr %v_tex, i64 %93
  %95 = load float, ptr %94, align 1
  %96 = add i32 %88, %23
  %97 = sext i32 %96 to i64
  %98 = getelementptr inbounds float, ptr %v_tex, i64 %97
  %99 = load float, ptr %98, align 1
  %100 = add i32 %91, %19
  %101 = sext i32 %100 to i64
  %102 = getelementptr inbounds float, ptr %v_tex, i64 %101
  %103 = load float, ptr %102, align 1
  %104 = add i32 %91, %23
  %105 = sext i32 %104 to i64
  %106 = getelementptr inbounds float, ptr %v_tex, i64 %105
  %107 = load float, ptr %106, align 1
  %108 = fsub float %77, %73
  %109 = call float @llvm.fma.f32(float %21, float %108, float %73)
  %110 = fsub float %85, %81
  %111 = call float @llvm.fma.f32(float %21, float %110, float %81)
  %112 = fsub float %111, %109
  %113 = call float @llvm.fma.f32(float %41, float %112, float %109)
  %114 = fsub float %99, %95
  %115 = call float @llvm.fma.f32(float %21, float %114, float %95)
  %116 = fsub float %107, %103
  %117 = call float @llvm.fma.f32(float %21, float %116, float %103)
  %118 = fsub float %117, %115
  %119 = call float @llvm.fma.f32(float %41, float %118, float %115)
  %120 = fsub float %119, %113
  %121 = call float @llvm.fma.f32(float %61, float %120, float %113)
  store float %121, ptr %v__texel_30_.at
  br label %end1
end1:
  %122 = load float, ptr %v__texel_30_.at
  %123 = select i1 %3, float %122, float 0x0000000000000000
  %124 = getelementptr inbounds float, ptr %v_out, i64 %n
  store float %123, ptr %124, align 1
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  %125 = icmp eq i64 %n.next, %hi
  br i1 %125, label %done, label %iteration, !llvm.loop !1
done:
  ret void
}

define void @body(i64 %lo, i64 %hi, ptr noalias readonly captures(none) %pack) noinline nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %3 = getelementptr inbounds i64, ptr %pack, i64 2
  %4 = load ptr, ptr %3
  %5 = getelementptr inbounds i64, ptr %pack, i64 3
  %6 = load ptr, ptr %5
  %7 = getelementptr inbounds i64, ptr %pack, i64 4
  %8 = load ptr, ptr %7
  tail call void @loop(i64 %lo, i64 %hi, ptr %0, ptr %2, ptr %4, ptr %6, ptr %8)
  ret void
}

define i64 @run(ptr %pack, i64 %serial_max) nounwind {
  %n = call i64 @enter(ptr %pack)
  %some = icmp sgt i64 %n, 0
  %few = icmp sle i64 %n, %serial_max
  %here = and i1 %some, %few
  br i1 %here, label %serial, label %other
serial:
  call void @body(i64 0, i64 %n, ptr %pack)
  ret i64 0
other:
  ret i64 %n
}

attributes #0 = { nobuiltin nounwind willreturn memory(none) }
!0 = !{!"llvm.loop.unroll.runtime.disable"}
!1 = distinct !{!1, !0, !2}
!2 = !{!"llvm.loop.interleave.count", i32 1}
