package edge

import "testing"

// TestLargeUploadsLetOthersGoFirst: small ones are stored as they come.
func TestLargeUploadsLetOthersGoFirst(t *testing.T) {
	intake := &Intake{Each: 1 << 30, All: 1 << 30}
	room := intake.Reserve()
	defer room.Release()
	if err := room.Add(1 << 20); err != nil || room.Within(t.Context()) != t.Context() {
		t.Errorf("a small upload waits for others, %v", err)
	}
	if err := room.Build(8 << 20); err != nil || room.Within(t.Context()) == t.Context() {
		t.Errorf("a large upload is stored as a small one, %v", err)
	}
}
