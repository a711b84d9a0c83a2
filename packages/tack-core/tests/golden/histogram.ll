define internal float @tack.atomic.min.f32(ptr %p, float %v) nounwind {
entry:
  %first = load atomic i32, ptr %p monotonic, align 4
  br label %again
again:
  %seen = phi i32 [ %first, %entry ], [ %now, %swap ]
  %old = bitcast i32 %seen to float
  %0 = fcmp olt float %old, %v
  %1 = select i1 %0, float %old, float %v
  %2 = bitcast float %old to i32
  %3 = bitcast float %v to i32
  %4 = or i32 %2, %3
  %5 = bitcast i32 %4 to float
  %6 = fcmp oeq float %old, %v
  %7 = select i1 %6, float %5, float %1
  %8 = fcmp uno float %v, %v
  %9 = select i1 %8, float %old, float %7
  %next = bitcast float %9 to i32
  %10 = icmp eq i32 %next, %seen
  br i1 %10, label %done, label %swap
swap:
  %11 = cmpxchg ptr %p, i32 %seen, i32 %next monotonic monotonic, align 4
  %now = extractvalue { i32, i1 } %11, 0
  %12 = extractvalue { i32, i1 } %11, 1
  br i1 %12, label %done, label %again
done:
  ret float %old
}

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

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias readonly captures(none) %v_x, ptr captures(none) %v_bins, ptr captures(none) %v_least) noinline nounwind {
entry:
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  %1 = getelementptr inbounds float, ptr %v_x, i64 %n
  %2 = load float, ptr %1, align 1
  %3 = fadd float %2, 0x4008000000000000
  %4 = fcmp ogt float %3, 0xC3E0000000000000
  %5 = select i1 %4, float %3, float 0xC3E0000000000000
  %6 = fcmp olt float %5, 0x43DFFFFFE0000000
  %7 = select i1 %6, float %5, float 0x43DFFFFFE0000000
  %8 = fptosi float %7 to i64
  %9 = fcmp ogt float %3, 0x43DFFFFFE0000000
  %10 = select i1 %9, i64 9223372036854775807, i64 %8
  %11 = fcmp uno float %3, %3
  %12 = select i1 %11, i64 0, i64 %10
  %13 = getelementptr inbounds i32, ptr %v_bins, i64 %12
  %14 = atomicrmw add ptr %13, i32 1 monotonic, align 4
  %15 = icmp eq i32 %14, 0
  br i1 %15, label %then1, label %end1
then1:
  %16 = getelementptr inbounds float, ptr %v_least, i64 0
  %17 = getelementptr inbounds float, ptr %v_x, i64 %n
  %18 = load float, ptr %17, align 1
  %19 = call float @tack.atomic.min.f32(ptr %16, float %18)
  br label %end1
end1:
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  %20 = icmp eq i64 %n.next, %hi
  br i1 %20, label %done, label %iteration, !llvm.loop !1
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
