package httpx

import (
	"errors"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestLargeUploadsAreClassifiedAsLong checks that small uploads are stored before large ones.
func TestLargeUploadsAreClassifiedAsLong(t *testing.T) {
	intake := &Intake{Each: 1 << 30, All: 1 << 30}
	reservation := intake.Reserve()
	defer reservation.Release()
	if err := reservation.Add(1 << 20); err != nil || reservation.Long() {
		t.Errorf("a small upload waits for others, %v", err)
	}
	if err := reservation.Build(8 << 20); err != nil || !reservation.Long() {
		t.Errorf("a large upload is stored as a small one, %v", err)
	}
}

// TestIntakeLimits checks that the exact limit is accepted and one byte more is rejected.
// Memory for contents does not count against the limit of a request.
func TestIntakeLimits(t *testing.T) {
	intake := &Intake{Each: 4, All: 6}
	reservation := intake.Reserve()
	if err := reservation.Build(5); err != nil {
		t.Errorf("memory: %v", err)
	}
	if err := reservation.Add(1); err != nil {
		t.Errorf("as much as all may take: %v", err)
	}
	reservation.Release()
	if err := reservation.Build(6); err != nil {
		t.Errorf("as much memory as all may take: %v", err)
	}
	other := intake.Reserve()
	if err := reservation.of.Reserve().Add(1); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("one byte more: %v", err)
	}
	reservation.Release()
	if err := other.Build(5); err != nil {
		t.Error(err)
	}
	one := intake.Reserve()
	if err := errors.Join(one.Add(4), one.Build(1)); !errors.Is(err, model.ErrUnavailable) || errors.Is(err, model.ErrTooLarge) {
		t.Errorf("with others at work: %v", err)
	}
	if err := one.Build(1); !errors.Is(err, model.ErrUnavailable) || errors.Is(err, model.ErrTooLarge) {
		t.Errorf("as much alone as all may take, with others at work: %v", err)
	}
	large := (&Intake{Each: 1 << 30, All: 1 << 30}).Reserve()
	if err := large.Add(longUpload); err != nil || large.Long() {
		t.Errorf("an upload just below the limit of large ones waits, %v", err)
	}
}
