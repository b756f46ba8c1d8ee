package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/index/checkpoint"
	"github.com/redoubt/redoubt/internal/model"
)

// checkpointed is a world with the log of indexes that start from its checkpoints.
type checkpointed struct {
	*world

	t   testing.TB
	dir string
	log bytes.Buffer
}

func newCheckpointed(t testing.TB) *checkpointed {
	c := &checkpointed{world: newWorld(), t: t, dir: filepath.Join(t.TempDir(), "index")}
	seed(c.world)
	add(c.world, smallBody, span(1, 10)...)
	return c
}

func (c *checkpointed) start() *Index {
	c.log.Reset()
	return New(c.world, Options{
		BodyCache: 1 << 20, Checkpoints: Checkpoints{Dir: c.dir, Registry: c.world}, Logger: slog.New(slog.NewTextHandler(&c.log, nil)),
	})
}

func (c *checkpointed) file() string {
	return filepath.Join(c.dir, fmt.Sprint(tenant, ".checkpoint"))
}

// save starts an index, queries it and writes its checkpoint.
func (c *checkpointed) save() {
	c.t.Helper()
	x := c.start()
	view(c.t, x)
	x.Save(c.t.Context())
	if _, err := os.Stat(c.file()); err != nil {
		c.t.Fatalf("%v\n%s", err, &c.log)
	}
}

func (c *checkpointed) bytes() []byte {
	c.t.Helper()
	b, err := os.ReadFile(c.file())
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

func (c *checkpointed) put(b []byte) {
	c.t.Helper()
	if err := os.WriteFile(c.file(), b, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// starts starts an index and checks whether it read the checkpoint. It also compares results with
// those of an index built from the store.
func (c *checkpointed) starts(want bool) {
	c.t.Helper()
	x := c.start()
	f := model.FindingFilter{IssueType: model.SAST}
	got, built := written(c.t, view(c.t, x), f, 0, 100), written(c.t, view(c.t, New(c.world, Options{})), f, 0, 100)
	if !bytes.Equal(got, built) {
		c.t.Errorf("from a checkpoint\n%s\nfrom the store\n%s", got, built)
	}
	if read := x.loads.Load() == 0; read != want {
		c.t.Errorf("the checkpoint was read: %v, want %v\n%s", read, want, &c.log)
	}
}

func TestStartFromCheckpoint(t *testing.T) {
	c := newCheckpointed(t)
	c.starts(false)
	c.save()
	feeds := c.feeds
	c.starts(true)
	if c.feeds != feeds+2 {
		t.Errorf("%d feeds were read, want the one since the checkpoint, and one to compare with", c.feeds-feeds)
	}
	add(c.world, smallBody, 11, 12)
	c.deleteFinding(3)
	c.commit()
	c.starts(true)
	for path, want := range map[string]os.FileMode{c.dir: 0o700, c.file(): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(c.dir, "*.part")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// TestDamagedCheckpointIsRejected checks that a checkpoint with a flipped bit, or of another
// length, is rejected.
func TestDamagedCheckpointIsRejected(t *testing.T) {
	c := newCheckpointed(t)
	c.save()
	original := c.bytes()
	for i := range original {
		for bit := range 8 {
			b := bytes.Clone(original)
			b[i] ^= 1 << bit
			if s, err := read(b); err == nil {
				t.Fatalf("bit %d of byte %d of %d is another one, and %v was read", bit, i, len(original), s)
			}
		}
		if _, err := read(original[:i]); err == nil {
			t.Fatalf("the first %d bytes of %d were read", i, len(original))
		}
	}
	if _, err := read(append(bytes.Clone(original), 0)); err == nil {
		t.Fatal("a byte more was not noticed")
	}
	if _, err := read(original); err != nil {
		t.Fatal(err)
	}
	original[len(original)/2] ^= 1
	c.put(original)
	c.starts(false)
	if !strings.Contains(c.log.String(), "damaged") {
		t.Errorf("the log does not say why:\n%s", &c.log)
	}
	if _, err := os.Stat(c.file()); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func read(b []byte) (*state, error) {
	r, err := checkpoint.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	return readState(r, &budget{}, time.Now)
}

// TestCheckpointWriterCrash simulates a crash at each step of a write. The next start must find a valid
// checkpoint and return the stored data.
func TestCheckpointWriterCrash(t *testing.T) {
	c := newCheckpointed(t)
	c.save()
	old := c.bytes()
	add(c.world, smallBody, 11)

	t.Run("before the store knows it", func(t *testing.T) {
		x := New(c.world, Options{Checkpoints: Checkpoints{Dir: c.dir, Registry: refusing{c.world}}})
		view(t, x)
		x.Save(t.Context())
		if !bytes.Equal(c.bytes(), old) {
			t.Error("a file that the store does not know is in the place of one that it does")
		}
		c.starts(true)
	})
	t.Run("before it has its name", func(t *testing.T) {
		c.save()
		younger := c.bytes()
		c.put(old)
		part := filepath.Join(c.dir, "7.1.part")
		if err := os.WriteFile(part, younger, 0o600); err != nil {
			t.Fatal(err)
		}
		c.starts(true)
		later := func() time.Time { return time.Now().Add(2 * time.Hour) }
		x := New(c.world, Options{Clock: later, Checkpoints: Checkpoints{Dir: c.dir, Registry: c.world}})
		x.clearCheckpoints(t.Context())
		if _, err := os.Stat(part); !os.IsNotExist(err) {
			t.Errorf("the part is still there: %v", err)
		}
		c.starts(true)
	})
	t.Run("while it writes", func(t *testing.T) {
		add(c.world, smallBody, 12)
		c.put(old)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		x := c.start()
		view(t, x)
		x.deployments[tenant].save(ctx)
		if left, _ := filepath.Glob(filepath.Join(c.dir, "*.part")); len(left) > 0 || !bytes.Equal(c.bytes(), old) {
			t.Errorf("left over: %v", left)
		}
		c.starts(true)
	})
}

type refusing struct{ *world }

func (refusing) RecordCheckpoint(context.Context, int64, string, int64, []string) error {
	return model.ErrUnavailable
}

// TestCheckpointAfterDatabaseRestore checks that a checkpoint is used after the restore of a
// backup only if the backup contains its ID. The restored database may reach the same version with
// other content.
func TestCheckpointAfterDatabaseRestore(t *testing.T) {
	c := newCheckpointed(t)
	c.save()
	known := c.bytes()
	backup := c.copied()
	add(c.world, smallBody, 11)
	c.save()

	c.world = backup
	add(c.world, `"rule_message":null,"location":{"line":2}`, 11)
	c.starts(false)
	if !strings.Contains(c.log.String(), "restored") {
		t.Errorf("the log does not say why:\n%s", &c.log)
	}
	c.put(known)
	c.starts(true)
}

func TestUnusableCheckpoints(t *testing.T) {
	for name, change := range map[string]func(c *checkpointed){
		"changes since then are forgotten": func(c *checkpointed) {
			add(c.world, smallBody, 11)
			c.pruned = c.version
		},
		"it is of another deployment": func(c *checkpointed) {
			c.put(c.rewritten(func(h *checkpoint.Heading) { h.Deployment++ }))
		},
		"another program wrote it": func(c *checkpointed) {
			c.put(c.rewritten(func(h *checkpoint.Heading) { h.Layout[3]++ }))
		},
		"it is a folder": func(c *checkpointed) {
			if err := errors.Join(os.Remove(c.file()), os.Mkdir(c.file(), 0o700)); err != nil {
				c.t.Fatal(err)
			}
		},
		"it is empty": func(c *checkpointed) { c.put(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCheckpointed(t)
			c.save()
			change(c)
			c.starts(false)
			if n := strings.Count(c.log.String(), "level=WARN"); n != 1 {
				t.Errorf("%d warnings, want 1:\n%s", n, &c.log)
			}
		})
	}
}

// rewritten returns the checkpoint with a changed directory and sections.
func (c *checkpointed) rewritten(change func(*checkpoint.Heading), sections ...func(name string, b []byte) []byte) []byte {
	c.t.Helper()
	original := c.bytes()
	r, err := checkpoint.Open(bytes.NewReader(original), int64(len(original)))
	if err != nil {
		c.t.Fatal(err)
	}
	return rewrite(c.t, r, change, sections...)
}

func rewrite(t testing.TB, r *checkpoint.Reader, change func(*checkpoint.Heading), sections ...func(name string, b []byte) []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := checkpoint.NewWriter(&out)
	for _, s := range r.Sections {
		b, err := r.Section(s.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range sections {
			b = change(s.Name, b)
		}
		w.Section(s.Name, b)
	}
	h := r.Heading
	change(&h)
	if err := w.Finish(h); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestCheckpointWriteFailure checks that a failed write is logged and changes nothing.
func TestCheckpointWriteFailure(t *testing.T) {
	c := newCheckpointed(t)
	if err := os.WriteFile(c.dir, nil, 0o600); err != nil { // a file in place of the directory
		t.Fatal(err)
	}
	x := c.start()
	view(t, x)
	x.Save(t.Context())
	if n := strings.Count(c.log.String(), "was not written"); n != 1 {
		t.Errorf("it is said %d times, want 1:\n%s", n, &c.log)
	}
	c.starts(false)
}

func TestSmallDeploymentsHaveNoCheckpoint(t *testing.T) {
	c := newCheckpointed(t)
	x := New(c.world, Options{Checkpoints: Checkpoints{Dir: c.dir, Registry: c.world, Least: 11}})
	view(t, x)
	x.Save(t.Context())
	if _, err := os.Stat(c.file()); !os.IsNotExist(err) {
		t.Errorf("there is a file of 10 findings: %v", err)
	}
	add(c.world, smallBody, 11)
	view(t, x)
	x.Save(t.Context())
	if _, err := os.Stat(c.file()); err != nil {
		t.Error(err)
	}
}

// TestCheckpointSchedule checks that a checkpoint is written only after changes. It is written at
// most every few minutes and for at most a hundredth of the time.
func TestCheckpointSchedule(t *testing.T) {
	began := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		version int64
		after   time.Duration
		took    time.Duration
		want    bool
	}{
		{7, time.Hour, time.Second, false},
		{8, checkpointEvery - 1, 0, false},
		{8, checkpointEvery, time.Second, true},
		{8, 10 * time.Minute, 7 * time.Second, false},
		{8, 12 * time.Minute, 7 * time.Second, true},
		{-1, time.Hour, 0, false},
	} {
		s := &saved{version: 7, tried: began, took: c.took}
		if got := s.due(c.version, began.Add(c.after)); got != c.want {
			t.Errorf("version %d after %v, the last took %v: due %v", c.version, c.after, c.took, got)
		}
	}
	if never := (&saved{}); !never.due(1, began) {
		t.Error("an index without a checkpoint is not due")
	}
}

// TestReplacedCheckpointIDsAreDeleted checks that the store retains only the ID of the current
// checkpoint.
func TestReplacedCheckpointIDsAreDeleted(t *testing.T) {
	c := newCheckpointed(t)
	x := c.start()
	for i := range int64(10) {
		add(c.world, smallBody, 20+i)
		view(t, x)
		x.Save(t.Context())
	}
	if n := len(c.checkpoints); n > 2 {
		t.Errorf("%d are remembered, want the last one, and the one that it replaced", n)
	}
}

// TestCheckpointsOfDeletedDeployments checks that files of deleted deployments are removed at a
// start.
func TestCheckpointsOfDeletedDeployments(t *testing.T) {
	c := newCheckpointed(t)
	c.save()
	for _, name := range []string{"8.checkpoint", "notes.txt", "x.checkpoint"} {
		if err := os.WriteFile(filepath.Join(c.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.start().clearCheckpoints(t.Context())
	left, err := filepath.Glob(filepath.Join(c.dir, "*"))
	if err != nil || len(left) != 3 {
		t.Errorf("left: %v, %v, want all but that of deployment 8, which there is not", left, err)
	}
}

// TestCheckpointExcludesTextsOfSecrets checks that a checkpoint may contain unreferenced
// texts, but not those of a finding that became a secret.
func TestCheckpointExcludesTextsOfSecrets(t *testing.T) {
	c := newCheckpointed(t)
	c.putRule(model.Rule{ID: 1, Name: "go.sql.injection"}) // findings of this rule have their own messages
	add(c.world, `"rule_message":"found raw"`, 11)
	add(c.world, `"rule_message":"found other"`, 12)
	x := c.start()
	view(t, x)
	x.Save(t.Context())
	if !bytes.Contains(c.bytes(), []byte("found raw")) {
		t.Fatal("the test looks for what was never there")
	}
	secret := c.findings[11]
	secret.IssueType, secret.Body = model.Secrets, []byte(smallBody)
	c.putFinding(secret)
	c.commit()
	for i, x := range []*Index{c.start(), x} { // one index that reads the file, and the one that wrote it
		view(t, x)
		x.Save(t.Context())
		if text := c.bytes(); bytes.Contains(text, []byte("found raw")) || !bytes.Contains(text, []byte("found other")) {
			t.Errorf("index %d keeps it", i)
		}
	}
}
