package mcp

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// waiting returns the number and the bytes of planned changes.
func (c *Changes) waiting() (n, bytes int) {
	for _, p := range c.planned {
		n, bytes = n+1, bytes+p.size()
	}
	return n, bytes
}

// TestPlansAreBoundedByBytes checks that the oldest changes of a token are dropped at its limit. At
// the limit of a deployment or the process the new change is rejected, and changes of others
// remain.
func TestPlansAreBoundedByBytes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	changes := NewChanges(func() time.Time { now = now.Add(time.Microsecond); return now })
	plan := func(deployment, caller string, kilobytes int) (string, error) {
		a := &assistant{Config{Deployment: deployment, Caller: caller, Changes: changes}}
		return planRequest(a, strings.Repeat("x", kilobytes<<10), func(_ *assistant, _ context.Context, text, _ string) (any, error) { return len(text), nil })
	}
	if _, err := plan("acme", "one", 600); err == nil {
		t.Error("one change of 600 KiB is kept")
	}
	var ids []string
	for range 6 {
		id, err := plan("acme", "one", 100)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	one := &assistant{Config{Deployment: "acme", Caller: "one"}}
	if _, err := changes.remove(one, ids[0]); err == nil {
		t.Error("600 KiB of one token are kept")
	}
	elsewhere := &assistant{Config{Deployment: "other", Caller: "one"}}
	if _, err := changes.remove(elsewhere, ids[1]); err == nil {
		t.Error("a token of another deployment that is called so takes it")
	}
	if p, err := changes.remove(one, ids[1]); err != nil {
		t.Error(err)
	} else if n, err := p.send(t.Context(), one, p.request, ids[1]); err != nil || n != 100<<10 {
		t.Errorf("sent: %v, %v", n, err)
	}
	deployments := 0
	for ; deployments < 20; deployments++ {
		name := fmt.Sprint("tenant-", deployments)
		_, before := changes.waiting()
		refused := false
		for caller := 0; !refused && caller < 100; caller++ {
			_, err := plan(name, fmt.Sprint(caller), 500)
			refused = err != nil
		}
		_, after := changes.waiting()
		if !refused || after-before > maxBytesOfTenant {
			t.Fatalf("%s has %d bytes waiting, refused %t", name, after-before, refused)
		}
		if after-before < maxBytesOfTenant/2 {
			break // the process is full
		}
	}
	if _, bytes := changes.waiting(); deployments < 7 || deployments > 8 || bytes > maxBytesOfProcess {
		t.Errorf("%d deployments filled it, with %d bytes", deployments, bytes)
	}
	if _, err := plan("acme", "one", 1); err != nil { // a small change still fits
		t.Error(err)
	}
	now = now.Add(ChangeFor)
	if _, err := plan("late", "one", 500); err != nil {
		t.Error(err)
	}
	if n, _ := changes.waiting(); n != 1 {
		t.Errorf("%d changes wait that cannot be confirmed", n-1)
	}
}
