package notify

import "testing"

// TestTurnsLeaveOthersTheirWorkers: neither a deployment nor a host has more than its part,
// and who is sent away has taken nothing.
func TestTurnsLeaveOthersTheirWorkers(t *testing.T) {
	turns := turns{most: 2}
	steps := []struct {
		keys  []string
		leave bool
		want  bool
	}{
		{[]string{"deployment 1", "host a"}, false, true},
		{[]string{"deployment 1", "host b"}, false, true},
		{[]string{"deployment 1", "host c"}, false, false},
		{[]string{"deployment 2", "host a"}, false, true},
		{[]string{"deployment 3", "host a"}, false, false},
		{[]string{"deployment 3", "host c"}, false, true},
		{[]string{"deployment 1", "host a"}, true, true},
		{[]string{"deployment 3", "host a"}, false, true},
		{[]string{"deployment 3", "host d"}, false, false},
	}
	for i, s := range steps {
		if s.leave {
			turns.leave(s.keys...)
			continue
		}
		if got := turns.enter(s.keys...); got != s.want {
			t.Errorf("step %d: %v enter: %t", i, s.keys, got)
		}
	}
}
