package model

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCheckProjectName(t *testing.T) {
	for _, name := range []string{"acme/payments", "group/sub/repo", "local_scan/demo", "acme/managed-scan", "a/ö b%2F"} {
		if err := CheckProjectName(name); err != nil {
			t.Errorf("%q was refused: %v", name, err)
		}
	}
	for _, name := range []string{
		"", "one", "/x", "x/", "a//b", "a/../b", "./a", "a/b\n", "a/\x7f", "a/\xff", "a/" + strings.Repeat("x", 511),
	} {
		if err := CheckProjectName(name); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}

func TestNormalTags(t *testing.T) {
	got, err := NormalTags([]string{" b ", "a", "", "b", "a "})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "a"}, got); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	ten := strings.Split("0123456789", "")
	if _, err := NormalTags(ten); err != nil {
		t.Errorf("ten tags were refused: %v", err)
	}
	if _, err := NormalTags(append(ten, "x")); err == nil {
		t.Error("eleven tags were taken")
	}
	if _, err := NormalTags([]string{strings.Repeat("ö", MaxTagLength)}); err != nil {
		t.Errorf("a tag of %d characters was refused: %v", MaxTagLength, err)
	}
	if _, err := NormalTags([]string{strings.Repeat("x", MaxTagLength+1)}); err == nil {
		t.Error("a tag that is too long was taken")
	}
}

func TestPrimaryFollowsDefault(t *testing.T) {
	for _, c := range []struct{ primary, def, want string }{
		{"", "", "refs/heads/main"},
		{"", "refs/heads/trunk", "refs/heads/trunk"},
		{"refs/heads/dev", "refs/heads/trunk", "refs/heads/dev"},
	} {
		p := Project{PrimaryBranch: c.primary, DefaultBranch: c.def}
		if got := p.Primary(); got != c.want {
			t.Errorf("primary of %+v is %s, want %s", c, got, c.want)
		}
	}
}

func TestFullRef(t *testing.T) {
	for in, want := range map[string]string{
		"": "HEAD", "HEAD": "HEAD", "main": "refs/heads/main", "feature/x": "refs/heads/feature/x",
		"refs/heads/main": "refs/heads/main", "refs/pull/7/merge": "refs/pull/7/merge", "refs/tags/v1": "refs/tags/v1",
		"origin/main": "refs/heads/origin/main",
	} {
		if got := FullRef(in); got != want {
			t.Errorf("FullRef(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestScanStatusAt(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	running := Scan{Status: ScanRunning, StartedAt: start}
	if got := running.StatusAt(start.Add(ScanTimeout)); got != ScanRunning {
		t.Errorf("after exactly the timeout: %s", got)
	}
	if got := running.StatusAt(start.Add(ScanTimeout + 1)); got != ScanNeverFinished {
		t.Errorf("past the timeout: %s", got)
	}
	done := Scan{Status: ScanError, StartedAt: start}
	if got := done.StatusAt(start.Add(48 * time.Hour)); got != ScanError {
		t.Errorf("a failed scan later shows as %s", got)
	}
}

func TestValidSlug(t *testing.T) {
	for _, s := range []string{"acme", "a", "a-b", "0x", "1-2", strings.Repeat("a", 63)} {
		if !ValidSlug(s) {
			t.Errorf("%q was refused", s)
		}
	}
	for _, s := range []string{"", "123", "-a", "A", "a_b", "a/b", strings.Repeat("a", 64), "a\n"} {
		if ValidSlug(s) {
			t.Errorf("%q was taken", s)
		}
	}
}

func TestTokenActive(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name  string
		token Token
		want  bool
	}{
		{"without an end", Token{}, true},
		{"before its end", Token{ExpiresAt: now.Add(1)}, true},
		{"at its end", Token{ExpiresAt: now}, false},
		{"revoked", Token{RevokedAt: now.Add(-1)}, false},
	} {
		if got := c.token.Active(now); got != c.want {
			t.Errorf("a token %s is active: %v, want %v", c.name, got, c.want)
		}
	}
}
