package index

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/redoubt/redoubt/internal/model"
)

// slow is a source that blocks reads of its first deployment until release is closed.
type slow struct {
	everywhere
	release chan struct{}
}

func (s slow) Feed(ctx context.Context, deployment, since int64, handle func(*model.Batch) error) (int64, bool, error) {
	if deployment == 1 {
		<-s.release
	}
	return s.everywhere.Feed(ctx, deployment, since, handle)
}

// TestSlowLoadDoesNotDelayOthers checks that a slow load does not delay Start or requests for other
// deployments.
func TestSlowLoadDoesNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		seed(w)
		add(w, smallBody, span(1, 30)...)
		release := make(chan struct{})
		x := New(slow{everywhere{w}, release}, Options{})
		done := make(chan error, 1)
		go func() {
			_, err := x.Deployment(t.Context(), 1)
			done <- err
		}()
		synctest.Wait()
		x.Start(t.Context(), func(context.Context) ([]int64, error) { return []int64{5, 3}, nil })
		synctest.Wait()
		if x.Starting() || x.known(5) == nil || x.known(3) == nil {
			t.Errorf("starting %v, loaded %v; want 5 and 3", x.Starting(), x.deployments)
		}
		if _, err := x.Deployment(t.Context(), 7); err != nil {
			t.Error(err)
		}
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestLoadedDeploymentsStayWithinMemoryLimit checks that deployments requested concurrently are evicted down to
// the memory limit within a second.
func TestLoadedDeploymentsStayWithinMemoryLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		seed(w)
		add(w, smallBody, span(1, 300)...)
		x := New(everywhere{w}, Options{})
		x.memory = 2 * view(t, New(w, Options{})).d.footprint()
		running(t, x)
		synctest.Wait()
		for id := range int64(40) {
			if _, err := x.Deployment(t.Context(), id+1); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := len(x.loaded()); n > 2 {
				t.Fatalf("%d are in memory, which has room for 2", n)
			}
		}
	})
}
