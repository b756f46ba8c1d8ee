package agent

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt"
)

// Another try mends what the scan is not at fault for, however often it was tried.
func TestWhatAnotherTryMends(t *testing.T) {
	for err, last := range map[error]bool{ // whether the last attempt ends the scan
		fmt.Errorf("%w: gone", redoubt.ErrUnreachable):   true,
		fmt.Errorf("%w: full", redoubt.ErrDiskFull):      false,
		fmt.Errorf("%w: large", redoubt.ErrOutOfMemory):  true,
		fmt.Errorf("%w: broken", redoubt.ErrDamaged):     true,
		errors.New("a fault of ours"):                    true,
		fmt.Errorf("scan 1: %w", redoubt.ErrUnavailable): false,
	} {
		if reason := permanentReason(err, 1); reason != "" {
			t.Errorf("%v ends a scan at once: %s", err, reason)
		}
		if reason := permanentReason(err, Attempts); (reason != "") != last {
			t.Errorf("%v at the last attempt: %q", err, reason)
		}
	}
	for _, err := range []error{redoubt.ErrNotFound, redoubt.Invalid("body", "is none")} {
		if permanentReason(err, 1) == "" {
			t.Errorf("%v is tried again", err)
		}
	}
	if permanentReason(nil, Attempts) != "" {
		t.Error("no error ends a scan")
	}
}
