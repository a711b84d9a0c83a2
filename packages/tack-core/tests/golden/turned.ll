declare float @llvm.fma.f32(float, float, float)
define i64 @enter(ptr %pack) nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %3 = getelementptr inbounds i64, ptr %pack, i64 2
  %4 = load ptr, ptr %3
  %5 = getelementptr inbounds i64, ptr %pack, i64 3
  %6 = load i64, ptr %5
  %7 = icmp slt i64 0, %6
  %8 = sub i64 %6, 0
  %9 = sub i64 %8, 1
  %10 = add i64 %9, 1
  %11 = select i1 %7, i64 %10, i64 0
  %12 = getelementptr inbounds i64, ptr %pack, i64 4
  store i64 0, ptr %12
  %13 = getelementptr inbounds i64, ptr %pack, i64 5
  store i64 %11, ptr %13
  %14 = getelementptr inbounds i64, ptr %pack, i64 6
  store i64 1, ptr %14
  %15 = icmp slt i64 %11, 0
  br i1 %15, label %refused, label %checked1
checked1:
  %16 = icmp eq i64 %11, 0
  br i1 %16, label %none, label %prologue
prologue:
  ret i64 %11
none:
  ret i64 0
zero:
  ret i64 -1
refused:
  ret i64 -2
}

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias readonly captures(none) %v_points, ptr noalias readonly captures(none) %v_turns, ptr noalias captures(none) %v_out) noinline nounwind {
entry:
  %v_v.at = alloca float
  %v_v_1.at = alloca float
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %1 = and i64 %n, 1
  %2 = mul i64 %1, 2
  %3 = mul i64 %2, 2
  %4 = getelementptr inbounds float, ptr %v_turns, i64 %3
  %5 = load float, ptr %4, align 1
  %6 = and i64 %n, 1
  %7 = mul i64 %6, 2
  %8 = mul i64 %7, 2
  %9 = add i64 %8, 1
  %10 = getelementptr inbounds float, ptr %v_turns, i64 %9
  %11 = load float, ptr %10, align 1
  %12 = and i64 %n, 1
  %13 = mul i64 %12, 2
  %14 = add i64 %13, 1
  %15 = mul i64 %14, 2
  %16 = getelementptr inbounds float, ptr %v_turns, i64 %15
  %17 = load float, ptr %16, align 1
  %18 = and i64 %n, 1
  %19 = mul i64 %18, 2
  %20 = add i64 %19, 1
  %21 = mul i64 %20, 2
  %22 = add i64 %21, 1
  %23 = getelementptr inbounds float, ptr %v_turns, i64 %22
  %24 = load float, ptr %23, align 1
  %25 = mul i64 %n, 2
  %26 = getelementptr inbounds float, ptr %v_points, i64 %25
  %27 = load float, ptr %26, align 1
  %28 = mul i64 %n, 2
  %29 = add i64 %28, 1
  %30 = getelementptr inbounds float, ptr %v_points, i64 %29
  %31 = load float, ptr %30, align 1
  %32 = fmul float %5, %27
  %33 = fmul float %17, %27
  %34 = call float @llvm.fma.f32(float %11, float %31, float %32)
  %35 = call float @llvm.fma.f32(float %34, float 0x4000000000000000, float 0x3FD0000000000000)
  store float %35, ptr %v_v.at
  %36 = call float @llvm.fma.f32(float %24, float %31, float %33)
  %37 = call float @llvm.fma.f32(float %36, float 0x4000000000000000, float 0xBFE0000000000000)
  store float %37, ptr %v_v_1.at
  %38 = and i64 %n, 1
  %39 = mul i64 %n, 2
  %40 = getelementptr inbounds float, ptr %v_points, i64 %39
  %41 = load float, ptr %40, align 1
  %42 = mul i64 %n, 2
  %43 = add i64 %42, 1
  %44 = getelementptr inbounds float, ptr %v_points, i64 %43
  %45 = load float, ptr %44, align 1
  %46 = load float, ptr %v_v.at
  %47 = fmul float %46, %41
  %48 = icmp eq i64 %38, 0
  %49 = load float, ptr %v_v.at
  %50 = load float, ptr %v_v_1.at
  %51 = select i1 %48, float %49, float %50
  %52 = load float, ptr %v_v_1.at
  %53 = call float @llvm.fma.f32(float %52, float %45, float %47)
  %54 = fadd float %51, %53
  %55 = icmp eq i64 %38, 0
  br i1 %55, label %then1, label %end1
then1:
  store float %54, ptr %v_v.at
  br label %end1
end1:
  %56 = icmp eq i64 %38, 1
  br i1 %56, label %then2, label %end2
then2:
  store float %54, ptr %v_v_1.at
  br label %end2
end2:
  %57 = load float, ptr %v_v.at
  %58 = fcmp olt float %57, 0x0000000000000000
  %59 = load float, ptr %v_v_1.at
  %60 = load float, ptr %v_v.at
  %61 = select i1 %58, float %59, float %60
  %62 = mul i64 %n, 2
  %63 = getelementptr inbounds float, ptr %v_out, i64 %62
  store float %61, ptr %63, align 1
  %64 = load float, ptr %v_v_1.at
  %65 = fcmp olt float %64, 0x0000000000000000
  %66 = load float, ptr %v_v.at
  %67 = load float, ptr %v_v_1.at
  %68 = select i1 %65, float %66, float %67
  %69 = mul i64 %n, 2
  %70 = add i64 %69, 1
  %71 = getelementptr inbounds float, ptr %v_out, i64 %70
  store float %68, ptr %71, align 1
  %72 = mul i64 %n, 2
  %73 = getelementptr inbounds float, ptr %v_out, i64 %72
  %74 = load float, ptr %73, align 1
  %75 = fsub float %74, 0x3FF0000000000000
  %76 = mul i64 %n, 2
  %77 = getelementptr inbounds float, ptr %v_out, i64 %76
  store float %75, ptr %77, align 1
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  %78 = icmp eq i64 %n.next, %hi
  br i1 %78, label %done, label %iteration, !llvm.loop !1
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
  tail call void @loop(i64 %lo, i64 %hi, ptr %0, ptr %2, ptr %4)
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
