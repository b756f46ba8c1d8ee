package policy

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/redoubt/redoubt"
)

// counting counts what is read of it.
type counting struct {
	GateStorage
	reads map[string]int
}

func (c *counting) Policies(context.Context) ([]redoubt.Policy, error) {
	c.reads["policies"]++
	return []redoubt.Policy{{ID: 1}}, nil
}

func (c *counting) ServedRules(context.Context) ([]redoubt.ServedRule, error) {
	c.reads["served"]++
	return make([]redoubt.ServedRule, 2), nil
}

func (c *counting) BlockingRules(context.Context) ([]redoubt.PolicyRule, error) {
	c.reads["blocking"]++
	return make([]redoubt.PolicyRule, 3), nil
}

func (c *counting) OpenFindings(_ context.Context, _ int64, ref, source string) ([]redoubt.Finding, error) {
	c.reads["open "+ref+" "+source]++
	return make([]redoubt.Finding, 4), nil
}

func (c *counting) UnresolvedFindings(_ context.Context, _ int64, ref, source string) ([]redoubt.Finding, error) {
	c.reads["live "+ref+" "+source]++
	return make([]redoubt.Finding, 4), nil
}

// TestRememberedReadsOnce what holds for all projects, and each branch of a project; it reads
// no branch that there is no room for, and says so.
func TestRememberedReadsOnce(t *testing.T) {
	from := &counting{reads: map[string]int{}}
	r := &Remembered{GateStorage: from, Room: 20, Unresolved: func(_ context.Context, _ int64, ref, _ string, most int) (int, error) {
		if ref == "large" {
			return most, nil
		}
		return 4, nil
	}}
	ctx := t.Context()
	for range 3 {
		policies, _ := r.Policies(ctx)
		served, _ := r.ServedRules(ctx)
		blocking, err := r.BlockingRules(ctx)
		if err != nil || !slices.Equal([]int{len(policies), len(served), len(blocking)}, []int{1, 2, 3}) {
			t.Fatalf("%d policies, %d served and %d blocking rules, %v", len(policies), len(served), len(blocking), err)
		}
		for _, ref := range []string{"main", "topic"} {
			if list, err := r.OpenFindings(ctx, 7, ref, "a"); len(list) != 4 || err != nil {
				t.Fatalf("%d findings of %s, %v", len(list), ref, err)
			}
		}
		if list, err := r.UnresolvedFindings(ctx, 7, "main", "a"); len(list) != 4 || err != nil {
			t.Fatalf("%d live ones, %v", len(list), err)
		}
		if _, err := r.OpenFindings(ctx, 7, "large", "a"); !errors.Is(err, ErrNoRoom) {
			t.Fatalf("a branch that is too large: %v", err)
		}
	}
	for what, n := range from.reads {
		if n != 1 {
			t.Errorf("%s: read %d times", what, n)
		}
	}
	if len(from.reads) != 6 || r.Room != 8 {
		t.Errorf("there were reads of %v, and there is room for %d, want 8", from.reads, r.Room)
	}
	if _, err := r.OpenFindings(ctx, 8, "main", "a"); err != nil || from.reads["open main a"] != 2 || r.Room != 4 {
		t.Errorf("the branch of another project is read %d times, %v, room for %d", from.reads["open main a"], err, r.Room)
	}
	for _, ref := range []string{"b", "c"} { // the one fits exactly, the next does not
		if _, err := r.OpenFindings(ctx, 8, ref, "a"); (err == nil) != (ref == "b") {
			t.Errorf("%s with room for %d: %v", ref, r.Room, err)
		}
	}
}
