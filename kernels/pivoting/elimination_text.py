"""LLVM text of Gauss-Jordan elimination with complete pivoting of one matrix: functions that several machines copy.

`@reduce` eliminates a matrix (m, n) in place and returns its rank. Rows and columns have states: above 0 where they may
have a pivot, -1 once they have one. No multiply-add is fused, so that every machine picks the same sets.
"""

from __future__ import annotations

FUNCTIONS = """
define internal double @largest(ptr %A, ptr %row, ptr %column, i64 %m, i64 %n) {
entry:
  br label %rows
rows:
  %i = phi i64 [ 0, %entry ], [ %i.next, %row.end ]
  %best.i = phi double [ -1.0, %entry ], [ %best, %row.end ]
  %more = icmp ult i64 %i, %m
  br i1 %more, label %state, label %done
state:
  %prow = getelementptr double, ptr %row, i64 %i
  %r = load double, ptr %prow
  %free = fcmp ogt double %r, 0.0
  %start = mul i64 %i, %n
  br i1 %free, label %columns, label %row.end
columns:
  %j = phi i64 [ 0, %state ], [ %j.next, %columns ]
  %best.j = phi double [ %best.i, %state ], [ %best.new, %columns ]
  %k = add nuw i64 %start, %j
  %pa = getelementptr double, ptr %A, i64 %k
  %a = load double, ptr %pa
  %size = call double @llvm.fabs.f64(double %a)
  %pc = getelementptr double, ptr %column, i64 %j
  %c = load double, ptr %pc
  %open = fcmp ogt double %c, 0.0
  %value = select i1 %open, double %size, double -1.0
  %larger = fcmp nnan nsz ogt double %value, %best.j
  %best.new = select nnan nsz i1 %larger, double %value, double %best.j
  %j.next = add nuw i64 %j, 1
  %j.more = icmp ult i64 %j.next, %n
  br i1 %j.more, label %columns, label %row.end
row.end:
  %best = phi double [ %best.i, %state ], [ %best.new, %columns ]
  %i.next = add nuw i64 %i, 1
  br label %rows
done:
  ret double %best.i
}

define internal void @first(ptr %A, ptr %row, ptr %column, i64 %m, i64 %n, double %bound, ptr %pi, ptr %pj) {
entry:
  br label %rows
rows:
  %i = phi i64 [ 0, %entry ], [ %i.next, %row.end ]
  %prow = getelementptr double, ptr %row, i64 %i
  %r = load double, ptr %prow
  %free = fcmp ogt double %r, 0.0
  %start = mul i64 %i, %n
  br i1 %free, label %columns, label %row.end
columns:
  %j = phi i64 [ 0, %rows ], [ %j.next, %column.end ]
  %k = add nuw i64 %start, %j
  %pa = getelementptr double, ptr %A, i64 %k
  %a = load double, ptr %pa
  %size = call double @llvm.fabs.f64(double %a)
  %pc = getelementptr double, ptr %column, i64 %j
  %c = load double, ptr %pc
  %open = fcmp ogt double %c, 0.0
  %large = fcmp oge double %size, %bound
  %found = and i1 %open, %large
  br i1 %found, label %there, label %column.end
column.end:
  %j.next = add nuw i64 %j, 1
  %j.more = icmp ult i64 %j.next, %n
  br i1 %j.more, label %columns, label %row.end
row.end:
  %i.next = add nuw i64 %i, 1
  %i.more = icmp ult i64 %i.next, %m
  br i1 %i.more, label %rows, label %done
there:
  store i64 %i, ptr %pi
  store i64 %j, ptr %pj
  br label %done
done:
  ret void
}

define internal void @eliminate(ptr noalias %A, i64 %m, i64 %n, i64 %i, i64 %j) {
entry:
  %pivot.start = mul i64 %i, %n
  %source = getelementptr double, ptr %A, i64 %pivot.start
  %pp = getelementptr double, ptr %source, i64 %j
  %p = load double, ptr %pp
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r.next, %row.end ]
  %start = mul i64 %r, %n
  %target = getelementptr double, ptr %A, i64 %start
  %pf = getelementptr double, ptr %target, i64 %j
  %f0 = load double, ptr %pf
  %f = fdiv double %f0, %p
  %zero = fcmp oeq double %f0, 0.0
  %own = icmp eq i64 %r, %i
  %skip = or i1 %zero, %own
  br i1 %skip, label %row.end, label %columns
columns:
  %c = phi i64 [ 0, %rows ], [ %c.next, %columns ]
  %ps = getelementptr double, ptr %source, i64 %c
  %s = load double, ptr %ps, !alias.scope !12, !noalias !13
  %pt = getelementptr double, ptr %target, i64 %c
  %t = load double, ptr %pt, !alias.scope !13, !noalias !12
  %fs = fmul double %f, %s
  %new = fsub double %t, %fs
  store double %new, ptr %pt, !alias.scope !13, !noalias !12
  %c.next = add nuw i64 %c, 1
  %c.more = icmp ult i64 %c.next, %n
  br i1 %c.more, label %columns, label %row.end
row.end:
  %r.next = add nuw i64 %r, 1
  %r.more = icmp ult i64 %r.next, %m
  br i1 %r.more, label %rows, label %done
done:
  ret void
}

define internal double @entries(ptr %A, ptr %rows, ptr %columns, ptr %column, i64 %n, i64 %rank) {
entry:
  %some = icmp ugt i64 %rank, 0
  br i1 %some, label %pivots, label %done
pivots:
  %k = phi i64 [ 0, %entry ], [ %k.next, %pivot.end ]
  %best.k = phi double [ 0.0, %entry ], [ %best.new, %pivot.end ]
  %pi = getelementptr i64, ptr %rows, i64 %k
  %i = load i64, ptr %pi
  %pj = getelementptr i64, ptr %columns, i64 %k
  %j = load i64, ptr %pj
  %start = mul i64 %i, %n
  %line = getelementptr double, ptr %A, i64 %start
  %pp = getelementptr double, ptr %line, i64 %j
  %p = load double, ptr %pp
  br label %entries
entries:
  %c = phi i64 [ 0, %pivots ], [ %c.next, %entries ]
  %best.c = phi double [ %best.k, %pivots ], [ %best.new, %entries ]
  %pa = getelementptr double, ptr %line, i64 %c
  %a = load double, ptr %pa
  %b = fdiv double %a, %p
  %size = call double @llvm.fabs.f64(double %b)
  %pc = getelementptr double, ptr %column, i64 %c
  %state = load double, ptr %pc
  %open = fcmp oge double %state, 0.0
  %value = select i1 %open, double %size, double 0.0
  %larger = fcmp nnan nsz ogt double %value, %best.c
  %best.new = select nnan nsz i1 %larger, double %value, double %best.c
  %c.next = add nuw i64 %c, 1
  %c.more = icmp ult i64 %c.next, %n
  br i1 %c.more, label %entries, label %pivot.end
pivot.end:
  %k.next = add nuw i64 %k, 1
  %k.more = icmp ult i64 %k.next, %rank
  br i1 %k.more, label %pivots, label %done
done:
  %out = phi double [ 0.0, %entry ], [ %best.new, %pivot.end ]
  ret double %out
}

define internal i64 @reduce(ptr %A, ptr %row, ptr %column, ptr %rows, ptr %columns, ptr %pivots, ptr %figures,
                            i64 %m, i64 %n, i64 %steps, double %tolerance, double %tie) {
entry:
  %start = call double @largest(ptr %A, ptr %row, ptr %column, i64 %m, i64 %n)
  %least = fmul double %start, %tolerance
  br label %step
step:
  %k = phi i64 [ 0, %entry ], [ %k.next, %taken ]
  %size = phi double [ %start, %entry ], [ %size.next, %taken ]
  %left = icmp ult i64 %k, %steps
  %counts = fcmp ogt double %size, %least
  %go = and i1 %left, %counts
  br i1 %go, label %taken, label %ended
taken:
  %bound = fmul double %size, %tie
  %pi = getelementptr i64, ptr %rows, i64 %k
  %pj = getelementptr i64, ptr %columns, i64 %k
  call void @first(ptr %A, ptr %row, ptr %column, i64 %m, i64 %n, double %bound, ptr %pi, ptr %pj)
  %i = load i64, ptr %pi
  %j = load i64, ptr %pj
  %pk = getelementptr double, ptr %pivots, i64 %k
  store double %size, ptr %pk
  call void @eliminate(ptr %A, i64 %m, i64 %n, i64 %i, i64 %j)
  %pr = getelementptr double, ptr %row, i64 %i
  store double -1.0, ptr %pr
  %pc = getelementptr double, ptr %column, i64 %j
  store double -1.0, ptr %pc
  %k.next = add nuw i64 %k, 1
  %size.next = call double @largest(ptr %A, ptr %row, ptr %column, i64 %m, i64 %n)
  br label %step
ended:
  %negative = fcmp olt double %size, 0.0
  %rest = select i1 %negative, double 0.0, double %size
  %rest.left = select i1 %left, double %rest, double 0.0
  store double %rest.left, ptr %figures
  %most = call double @entries(ptr %A, ptr %rows, ptr %columns, ptr %column, i64 %n, i64 %k)
  %entry.size = getelementptr double, ptr %figures, i64 1
  store double %most, ptr %entry.size
  ret i64 %k
}
"""
ALIASING = """
!11 = distinct !{!11}
!12 = !{!14}
!13 = !{!15}
!14 = distinct !{!14, !11}
!15 = distinct !{!15, !11}
"""
METADATA = f"\ndeclare double @llvm.fabs.f64(double)\n{ALIASING}"
