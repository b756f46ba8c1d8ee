package notify

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// TestSecretsAreRemovedFromResponses checks each form in which a response may contain a secret.
func TestSecretsAreRemovedFromResponses(t *testing.T) {
	target := model.NotificationTarget{
		URL: "https://hooks.example/services/T0/S3cret%20token?key=abc%2Bdefgh", Secret: "whsec_c2VjcmV0c2VjcmV0", Before: "whsec_YmVmb3JlYmVmb3Jl",
	}
	for _, text := range []string{
		target.URL, "/services/T0/S3cret%20token?key=abc%2Bdefgh", "/services/T0/S3cret%20token", "/services/T0/S3cret token", "S3cret%20token", "S3cret token",
		"key=abc%2Bdefgh", "key=abc+defgh", "abc%2Bdefgh", "abc+defgh", `https:\/\/hooks.example\/services\/T0\/S3cret%20token`,
		target.Secret, "c2VjcmV0c2VjcmV0", target.Before, "YmVmb3JlYmVmb3Jl",
	} {
		got := hush("no hook at "+text+" here", target)
		if !strings.HasPrefix(got, "no hook at ") || !strings.HasSuffix(got, " here") || !strings.Contains(got, "…") {
			t.Errorf("of %q is left %q", text, got)
		}
		for _, secret := range []string{"S3cret", "defgh", "c2Vj", "YmVm"} {
			if strings.Contains(got, secret) {
				t.Errorf("of %q is left %q", text, got)
			}
		}
	}
	if got := hush("a/b is no channel", model.NotificationTarget{URL: "https://hooks.example/"}); got != "a/b is no channel" {
		t.Errorf("of an address without a path is left %q", got)
	}
}

// TestOnlyShutdownLimitsOutcomeStorageTime checks that only a shutdown limits the time, after a grace
// period.
func TestOnlyShutdownLimitsOutcomeStorageTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, stop := context.WithCancel(t.Context())
		ctx, cancel := withGracePeriod(outer, keepWithin)
		defer cancel()
		time.Sleep(10 * keepWithin)
		if ctx.Err() != nil {
			t.Fatal("it ends without being stopped")
		}
		stop()
		time.Sleep(keepWithin - time.Millisecond)
		if synctest.Wait(); ctx.Err() != nil {
			t.Error("it ends at once with a stop")
		}
		time.Sleep(2 * time.Millisecond)
		if synctest.Wait(); ctx.Err() == nil {
			t.Error("a stop waits for ever")
		}
	})
}
