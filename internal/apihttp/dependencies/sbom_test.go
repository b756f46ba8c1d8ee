package dependencies

import (
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

func TestDownloadsSignedWithPreviousKey(t *testing.T) {
	s := &core.Server{Config: core.Config{SigningKeys: func() ([]byte, [][]byte) { return []byte("use"), [][]byte{[]byte("before")} }}}
	for key, want := range map[string]bool{"use": true, "before": true, "other": false} {
		in := &api.DownloadQuery{Expires: 9, Signature: signature([]byte(key), "1", "task", 9)}
		if signed(s, "1", "task", in) != want || signed(s, "2", "task", in) {
			t.Errorf("a URL signed with %q is valid: %v, want %v", key, !want, want)
		}
	}
}
