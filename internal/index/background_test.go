package index

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// running runs the index's background tasks until the test ends.
func running(t *testing.T, x *Index) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		x.Run(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
}

// TestCommitsAreAppliedBeforeNextRead checks that commits are followed before the next read.
// Commits of this process are followed immediately, commits of other processes within the polling
// interval.
func TestCommitsAreAppliedBeforeNextRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		seed(w)
		add(w, smallBody, span(1, 10)...)
		x := New(w, Options{BodyCache: 1 << 20})
		running(t, x)
		x.Committed(tenant, w.version)
		time.Sleep(taskInterval + taskInterval/10)
		synctest.Wait()
		if w.feeds != 1 || x.known(tenant).version() != w.version {
			t.Errorf("a deployment that was written to was read %d times, want once", w.feeds)
		}
		view(t, x)
		for _, c := range []struct {
			who   string
			await func()
		}{
			{"this process", func() { x.Committed(tenant, w.version) }},
			{"another process", func() { time.Sleep(othersEvery + othersEvery/10) }},
		} {
			add(w, smallBody, int64(20+w.feeds))
			c.await()
			synctest.Wait()
			feeds := w.feeds
			if got := len(ids(t, view(t, x), 0, 100)); got != len(w.findings) || w.feeds != feeds {
				t.Errorf("%s committed: %d findings of %d, and the reader read %d feeds", c.who, got, len(w.findings), w.feeds-feeds)
			}
		}
	})
}

// TestAwaitCommits checks that Settle waits only for earlier commits. It returns at once if commits are
// not followed or the deployment is not loaded.
func TestAwaitCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		seed(w)
		add(w, smallBody, span(1, 10)...)
		x := New(w, Options{BodyCache: 1 << 20})
		x.AwaitCommits(t.Context(), tenant)
		view(t, x)
		add(w, smallBody, 11)
		x.AwaitCommits(t.Context(), tenant)
		if w.feeds != 1 {
			t.Errorf("%d feeds were read where nothing follows, want that of the view", w.feeds)
		}
		running(t, x)
		synctest.Wait()
		x.AwaitCommits(t.Context(), tenant)
		if got := x.known(tenant).version(); got != w.version || w.feeds != 2 {
			t.Errorf("settled at version %d of %d, by %d feeds", got, w.version, w.feeds)
		}
		add(w, smallBody, 12)
		if err := x.known(tenant).acquire(t.Context()); err != nil { // simulates a long refresh
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		x.AwaitCommits(ctx, tenant)
		x.known(tenant).release()
	})
}

// TestReaderRetriesFailedBackgroundFeed checks that a reader retries a feed that failed in the
// background.
func TestReaderRetriesFailedBackgroundFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &broken{world: newWorld(), after: working}
		seed(s.world)
		add(s.world, smallBody, 1)
		x := New(s, Options{})
		running(t, x)
		view(t, x)
		add(s.world, smallBody, 2)
		s.after = 1
		x.Committed(tenant, s.version)
		synctest.Wait()
		s.after = working
		if got := ids(t, view(t, x), 0, 10); !slices.Equal(got, []int64{2, 1}) {
			t.Errorf("findings %v", got)
		}
	})
}

// TestBodiesAreCachedInBackground checks that missing bodies are cached, newest first, up to the
// budget.
func TestBodiesAreCachedInBackground(t *testing.T) {
	for name, c := range map[string]struct {
		cacheSize int64
		fetch     bool // whether an old page still reads from the store
	}{"all": {1 << 20, false}, "some": {48 << 10, true}, "none": {0, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				seed(w)
				for id := range int64(100) {
					add(w, `"rule_message":"`+strings.Repeat("x", 1000)+`"`, id+1)
				}
				x := New(&bodiless{w}, Options{BodyCache: c.cacheSize})
				running(t, x)
				v := view(t, x)
				time.Sleep(2 * taskInterval)
				synctest.Wait()
				w.bodyReads = 0
				if ids(t, v, 0, 10); (w.bodyReads > 0) != (c.cacheSize == 0) {
					t.Errorf("the newest page read %d bodies from the store", w.bodyReads)
				}
				if ids(t, v, 9, 10); (w.bodyReads > 0) != c.fetch {
					t.Errorf("the oldest page read %d bodies from the store", w.bodyReads)
				}
				if used := x.bodies.inUse(); used > c.cacheSize {
					t.Errorf("%d bytes of bodies are in memory, %d may be", used, c.cacheSize)
				}
			})
		})
	}
}

// bodiless is a source whose complete feed omits bodies, as the store's does.
type bodiless struct{ *world }

func (s *bodiless) Feed(ctx context.Context, id, since int64, handle func(*model.Batch) error) (int64, bool, error) {
	return s.world.Feed(ctx, id, since, func(b *model.Batch) error {
		for i := range b.Findings {
			if since == 0 {
				b.Findings[i].Body = nil
			}
		}
		return handle(b)
	})
}

// everywhere is a source with the same content in every deployment.
type everywhere struct{ *world }

func (s everywhere) Version(ctx context.Context, id int64) (int64, error) {
	if id > 99 {
		return 0, model.ErrNotFound
	}
	return s.world.Version(ctx, tenant)
}

func (s everywhere) Versions(ctx context.Context, ids []int64) (map[int64]int64, error) {
	out := map[int64]int64{}
	for _, id := range ids {
		if v, err := s.Version(ctx, id); err == nil {
			out[id] = v
		}
	}
	return out, nil
}

// TestLeastRecentlyUsedDeploymentsAreEvicted checks that the least recently used deployments are evicted,
// and that existing views remain valid.
func TestLeastRecentlyUsedDeploymentsAreEvicted(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, smallBody, span(1, 300)...)
	var log bytes.Buffer
	dir := filepath.Join(t.TempDir(), "index")
	x := New(everywhere{w}, Options{
		BodyCache: 1 << 20, Checkpoints: Checkpoints{Dir: dir, Registry: w}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	request := func(id int64) *View {
		t.Helper()
		v, err := x.Deployment(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := request(1)
	x.memory = 5 * first.d.footprint() / 2 // space for two deployments
	for id := range int64(4) {
		request(id + 1)
	}
	request(2)
	x.evict(t.Context())
	if x.known(1) != nil || x.known(3) != nil || x.known(2) == nil || x.known(4) == nil {
		t.Errorf("deployments 2 and 4 were asked for last; there are %v", x.deployments)
	}
	if got := ids(t, first, 0, 400); len(got) != 300 {
		t.Errorf("who had a view sees %d findings of 300", len(got))
	}
	if err := first.d.refresh(t.Context(), w.version+1); !errors.Is(err, errEvicted) {
		t.Errorf("it still follows: %v", err)
	}
	loads := x.loads.Load()
	if got := ids(t, request(1), 0, 400); len(got) != 300 || x.loads.Load() != loads {
		t.Errorf("after another request it has %d findings of 300, rebuilt: %v\n%s", len(got), x.loads.Load() != loads, &log)
	}
	x.memory = 1
	x.evict(t.Context())
	if n := len(x.loaded()); n != 1 || x.known(1) == nil {
		t.Errorf("%d are in memory, want the one that was asked for last", n)
	}
	if loaded := x.known(1); !loaded.retire(t.Context()) || loaded.retire(t.Context()) {
		t.Error("it did not leave memory once")
	}
	if used := x.bodies.inUse(); used != 0 {
		t.Errorf("%d bytes of bodies are left", used)
	}
}

// TestStartPreloadsDeployments checks that Start loads deployments in order until the memory
// limit and skips a deployment that fails to load.
func TestStartPreloadsDeployments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		seed(w)
		add(w, smallBody, span(1, 300)...)
		x := New(everywhere{w}, Options{})
		size := view(t, New(w, Options{})).d.footprint()
		x.memory = 2*size - 1
		begin := make(chan struct{})
		x.Start(t.Context(), func(context.Context) ([]int64, error) {
			<-begin
			return []int64{5, 404, 3, 4}, nil
		})
		synctest.Wait()
		if !x.Starting() {
			t.Error("the start is over before it began")
		}
		close(begin)
		synctest.Wait()
		if x.Starting() || x.known(5) == nil || x.known(3) == nil || x.known(4) != nil {
			t.Errorf("starting %v, loaded %v; want 5 and 3", x.Starting(), x.deployments)
		}
		x.Start(t.Context(), func(context.Context) ([]int64, error) { return nil, model.ErrUnavailable })
		synctest.Wait()
		if x.Starting() {
			t.Error("a start without a store goes on for ever")
		}
	})
}

// TestCommitLoadsDeploymentOnce checks that a commit loads a deployment that was never in memory.
// Later commits do not load an evicted deployment.
func TestCommitLoadsDeploymentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		seed(w)
		add(w, smallBody, span(1, 300)...)
		x := New(everywhere{w}, Options{})
		x.memory = 2*view(t, New(w, Options{})).d.footprint() - 1
		running(t, x)
		for range 10 {
			for id := range int64(5) {
				x.Committed(id+1, w.version)
			}
			time.Sleep(2 * taskInterval)
			synctest.Wait()
		}
		if n, loads := len(x.loaded()), x.loads.Load(); n != 1 || loads != 5 {
			t.Errorf("%d deployments are in memory after %d loads; want 1, for two have no room, after 5", n, loads)
		}
	})
}
