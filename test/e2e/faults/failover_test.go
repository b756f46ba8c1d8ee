//go:build faults && linux

package faults

import (
	"net/http"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestFaultsFailover kills a primary during all kinds of writes and promotes its synchronous
// standby. Running servers reconnect, and no acknowledged write is lost.
func TestFaultsFailover(t *testing.T) {
	pair := storetest.NewPair(t)
	f := newFaulty(t, config.Storage{Data: t.TempDir(), DatabaseURL: config.Secret(pair.Database().DatabaseURL)})
	f.start()
	f.base()
	stop := f.write("failover")
	f.acknowledge(60)
	pair.LosePrimary()
	f.readiness(http.StatusServiceUnavailable)
	before := f.count()
	pair.Promote()
	began := time.Now()
	f.acknowledge(1)
	back := time.Since(began)
	f.acknowledge(40)
	stop()
	f.readiness(http.StatusOK, `"writes":"ok"`)
	f.kill()
	f.checkStored()
	t.Logf("%d writes were acknowledged before the primary was lost, and %d in all; the first one was %v behind the promotion", before, f.count(), back)
	if back > 10*time.Second {
		t.Errorf("a write was acknowledged only after %v", back)
	}
}
