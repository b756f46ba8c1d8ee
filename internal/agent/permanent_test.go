package agent

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestScanRetryLimitByError checks that outages that the scan cannot have caused are retried without
// limit.
func TestScanRetryLimitByError(t *testing.T) {
	for err, last := range map[error]bool{ // whether the last attempt ends the scan
		fmt.Errorf("%w: gone", model.ErrUnreachable):   true,
		fmt.Errorf("%w: full", model.ErrDiskFull):      false,
		fmt.Errorf("%w: large", model.ErrOutOfMemory):  true,
		fmt.Errorf("%w: broken", model.ErrDamaged):     true,
		errors.New("a fault of ours"):                  true,
		fmt.Errorf("scan 1: %w", model.ErrUnavailable): false,
	} {
		if reason := permanentReason(err, 1); reason != "" {
			t.Errorf("%v ends a scan at once: %s", err, reason)
		}
		if reason := permanentReason(err, Attempts); (reason != "") != last {
			t.Errorf("%v at the last attempt: %q", err, reason)
		}
	}
	for _, err := range []error{model.ErrNotFound, model.Invalid("body", "is none")} {
		if permanentReason(err, 1) == "" {
			t.Errorf("%v is tried again", err)
		}
	}
	if permanentReason(nil, Attempts) != "" {
		t.Error("no error ends a scan")
	}
}
