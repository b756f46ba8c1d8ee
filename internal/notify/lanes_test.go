package notify

import (
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

// TestLanesLeaveOthersTheirs: neither a deployment nor a host nor those that fail have more
// than their part, and who is sent away goes once there is a lane.
func TestLanesLeaveOthersTheirs(t *testing.T) {
	rule := func(id int64) redoubt.NotificationReceiver { return redoubt.NotificationReceiver{RuleID: id} }
	mail := func(to string) redoubt.NotificationReceiver { return redoubt.NotificationReceiver{Address: to} }
	many := func(n int, one func(i int) lane) (list []lane) {
		for i := range n {
			list = append(list, one(i))
		}
		return list
	}
	for _, c := range []struct {
		name    string
		waiting map[int64][]lane
		want    map[int64]int // lanes by deployment
	}{
		{"of one host", map[int64][]lane{1: many(1000, func(i int) lane { return newLane(1, rule(int64(i)), "hole", false) })}, map[int64]int{1: lanesOfHost}},
		{"of one deployment", map[int64][]lane{1: many(1000, func(i int) lane { return newLane(1, rule(int64(i)), string(rune('a'+i)), false) })}, map[int64]int{1: lanesOfOne}},
		{"that failed", map[int64][]lane{1: many(1000, func(i int) lane { return newLane(1, rule(int64(i)), string(rune('a'+i)), true) })}, map[int64]int{1: lanesOfRepeated}},
		{"the last of them is healthy", map[int64][]lane{
			1: append(many(1000, func(i int) lane { return newLane(1, rule(int64(i)), "hole", false) }), newLane(1, rule(1000), "healthy", false)),
		}, map[int64]int{1: lanesOfHost + 1}},
		{"another tenant has its own", map[int64][]lane{
			1: many(1000, func(i int) lane { return newLane(1, rule(int64(i)), "hole", false) }),
			2: many(1000, func(i int) lane { return newLane(2, rule(int64(i)), "hole", false) }),
		}, map[int64]int{1: lanesOfHost, 2: lanesOfHost}},
		{"one receiver once", map[int64][]lane{1: {newLane(1, rule(7), "a", false), newLane(1, rule(7), "a", false)}, 2: {newLane(2, rule(7), "a", false)}}, map[int64]int{1: 1, 2: 1}},
		{"mail", map[int64][]lane{1: many(100, func(i int) lane { return newLane(1, mail(string(rune('a'+i))), "", false) })}, map[int64]int{1: lanesOfHost}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l lanes
			waited := 0
			for deployment, list := range c.waiting {
				waited += len(list)
				l.plan(deployment, list)
			}
			got := map[int64]int{}
			var inside []lane
			for next, ok := l.enter(); ok; next, ok = l.enter() {
				got[next.deployment]++
				inside = append(inside, next)
			}
			for deployment, n := range c.want {
				if got[deployment] != n {
					t.Errorf("deployment %d has %d lanes, want %d", deployment, got[deployment], n)
				}
			}
			went := len(inside)
			for ; len(inside) > 0; inside = inside[1:] {
				l.leave(inside[0], false)
				for next, ok := l.enter(); ok; next, ok = l.enter() {
					inside = append(inside, next)
					went++
				}
			}
			if went != waited {
				t.Errorf("%d of %d had a lane in the end", went, waited)
			}
			if next, ok := l.enter(); ok || len(l.taken) > 0 {
				t.Errorf("at the end there are %+v and %v", next, l.taken)
			}
		})
	}
}

// TestAPlanForgetsNobody who came back while it was made.
func TestAPlanForgetsNobody(t *testing.T) {
	var l lanes
	one := func(id int64) lane { return newLane(1, redoubt.NotificationReceiver{RuleID: id}, "host", false) }
	l.plan(1, []lane{one(1)})
	inside, _ := l.enter()
	l.leave(inside, true) // after the look that found the second alone
	l.plan(1, []lane{one(2)})
	l.plan(1, []lane{one(2)})
	var got []int64
	for next, ok := l.enter(); ok; next, ok = l.enter() {
		got = append(got, next.to.RuleID)
	}
	if !slices.Equal(got, []int64{2, 1}) {
		t.Errorf("told are %v", got)
	}
}

// TestWhoFailedGoesLast, also once the message that failed was given up.
func TestWhoFailedGoesLast(t *testing.T) {
	var now time.Time
	rules := map[int64]redoubt.NotificationRule{1: {Host: "dead", Problem: "The receiver answered 502."}, 2: {Host: "late"}, 3: {Host: "well"}}
	var waiting []store.ReceiverWaiting
	for id, attempts := range []int{0, 3, 0} {
		waiting = append(waiting, store.ReceiverWaiting{Receiver: redoubt.NotificationReceiver{RuleID: int64(id + 1)}, From: now, Attempts: attempts})
	}
	ready, _ := readyAt(now, 1, waiting, rules)
	repeated := limit{"deployment 1 repeated", lanesOfRepeated}
	for i, want := range []struct {
		id     int64
		failed bool
	}{{3, false}, {1, true}, {2, true}} {
		if got := ready[i]; got.to.RuleID != want.id || slices.Contains(got.limits, repeated) != want.failed {
			t.Errorf("at %d there is %+v, want %+v", i, got, want)
		}
	}
}
