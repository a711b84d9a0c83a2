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

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias readonly captures(none) %v_x, ptr noalias readonly captures(none) %v_n, ptr noalias captures(none) %v_out) noinline nounwind {
entry:
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %1 = getelementptr inbounds float, ptr %v_x, i64 %n
  %2 = load float, ptr %1, align 1
  %3 = fcmp ogt float %2, 0xC1E0000000000000
  %4 = select i1 %3, float %2, float 0xC1E0000000000000
  %5 = fcmp olt float %4, 0x41DFFFFFE0000000
  %6 = select i1 %5, float %4, float 0x41DFFFFFE0000000
  %7 = fptosi float %6 to i32
  %8 = fcmp ogt float %2, 0x41DFFFFFE0000000
  %9 = select i1 %8, i32 2147483647, i32 %7
  %10 = fcmp uno float %2, %2
  %11 = select i1 %10, i32 0, i32 %9
  %12 = getelementptr inbounds i8, ptr %v_n, i64 %n
  %13 = load i8, ptr %12, align 1
  %14 = icmp ne i8 %13, 0
  %15 = icmp sgt i32 %11, 0
  %16 = and i1 %14, %15
  br i1 %16, label %pick1, label %pick1.else
pick1:
  %17 = trunc i32 %11 to i8
  %18 = getelementptr inbounds float, ptr %v_x, i64 %n
  %19 = load float, ptr %18, align 1
  %20 = fcmp olt float %19, 0x3FE0000000000000
  %21 = zext i1 %20 to i8
  %22 = add i8 %17, %21
  %23 = zext i8 %22 to i64
  br label %pick1.end
pick1.else:
  %24 = getelementptr inbounds float, ptr %v_x, i64 %n
  %25 = load float, ptr %24, align 1
  %26 = fneg float %25
  %27 = fcmp ogt float %26, 0xC3E0000000000000
  %28 = select i1 %27, float %26, float 0xC3E0000000000000
  %29 = fcmp olt float %28, 0x43DFFFFFE0000000
  %30 = select i1 %29, float %28, float 0x43DFFFFFE0000000
  %31 = fptosi float %30 to i64
  %32 = fcmp ogt float %26, 0x43DFFFFFE0000000
  %33 = select i1 %32, i64 9223372036854775807, i64 %31
  %34 = fcmp uno float %26, %26
  %35 = select i1 %34, i64 0, i64 %33
  br label %pick1.end
pick1.end:
  %36 = phi i64 [ %23, %pick1 ], [ %35, %pick1.else ]
  %37 = getelementptr inbounds i64, ptr %v_out, i64 %n
  store i64 %36, ptr %37, align 1
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  %38 = icmp eq i64 %n.next, %hi
  br i1 %38, label %done, label %iteration, !llvm.loop !1
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
