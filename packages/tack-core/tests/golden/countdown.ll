define i64 @enter(ptr %pack) nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  %3 = getelementptr inbounds i64, ptr %pack, i64 2
  %4 = load i64, ptr %3
  %5 = icmp slt i64 0, %4
  %6 = sub i64 %4, 0
  %7 = sub i64 %6, 1
  %8 = add i64 %7, 1
  %9 = select i1 %5, i64 %8, i64 0
  %10 = getelementptr inbounds i64, ptr %pack, i64 3
  store i64 0, ptr %10
  %11 = getelementptr inbounds i64, ptr %pack, i64 4
  store i64 %9, ptr %11
  %12 = getelementptr inbounds i64, ptr %pack, i64 5
  store i64 1, ptr %12
  %13 = icmp slt i64 %9, 0
  br i1 %13, label %refused, label %checked1
checked1:
  %14 = icmp eq i64 %9, 0
  br i1 %14, label %none, label %prologue
prologue:
  ret i64 %9
none:
  ret i64 0
zero:
  ret i64 -1
refused:
  ret i64 -2
}

define internal void @loop(i64 noundef range(i64 0, -9223372036854775808) %lo, i64 noundef range(i64 0, -9223372036854775808) %hi, ptr noalias readonly captures(none) %v_n, ptr noalias captures(none) %v_out) noinline nounwind {
entry:
  %v_steps.at = alloca i32
  %v_v.at = alloca i32
  %0 = icmp slt i64 %lo, %hi
  br i1 %0, label %first, label %done
first:
  br label %iteration
iteration:
  %n = phi i64 [ %lo, %first ], [ %n.next, %next ]
  store i32 0, ptr %v_steps.at
  %1 = getelementptr inbounds i32, ptr %v_n, i64 %n
  %2 = load i32, ptr %1, align 1
  store i32 %2, ptr %v_v.at
  br label %while1
while1:
  %3 = load i32, ptr %v_v.at
  %4 = icmp sgt i32 %3, 1
  br i1 %4, label %do1, label %end1
do1:
  %5 = load i32, ptr %v_v.at
  %6 = and i32 %5, 1
  %7 = icmp ne i32 %6, 0
  br i1 %7, label %then2, label %end2
then2:
  %8 = load i32, ptr %v_v.at
  %9 = mul i32 3, %8
  %10 = add i32 %9, 1
  store i32 %10, ptr %v_v.at
  br label %while1
end2:
  %11 = load i32, ptr %v_v.at
  %12 = ashr i32 %11, 1
  store i32 %12, ptr %v_v.at
  %13 = load i32, ptr %v_steps.at
  %14 = add i32 %13, 1
  store i32 %14, ptr %v_steps.at
  %15 = load i32, ptr %v_steps.at
  %16 = icmp sgt i32 %15, 100
  br i1 %16, label %then3, label %end3
then3:
  br label %end1
end3:
  br label %while1
end1:
  %17 = load i32, ptr %v_steps.at
  %18 = getelementptr inbounds i32, ptr %v_out, i64 %n
  store i32 %17, ptr %18, align 1
  br label %next
next:
  %n.next = add nuw nsw i64 %n, 1
  %19 = icmp eq i64 %n.next, %hi
  br i1 %19, label %done, label %iteration, !llvm.loop !1
done:
  ret void
}

define void @body(i64 %lo, i64 %hi, ptr noalias readonly captures(none) %pack) noinline nounwind {
entry:
  %0 = load ptr, ptr %pack
  %1 = getelementptr inbounds i64, ptr %pack, i64 1
  %2 = load ptr, ptr %1
  tail call void @loop(i64 %lo, i64 %hi, ptr %0, ptr %2)
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
