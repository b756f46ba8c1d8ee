package findings

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

func TestSnapshotRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.Int64Range(1, 1<<32-1), 1, 200, rapid.ID[int64]).Draw(t, "ids")
		want := snapshotOf(rapid.Int64Range(0, 1<<50).Draw(t, "version"), model.SCA, ids)
		form := url.Values{}
		for _, p := range want.Params() {
			form.Set(p.Name, p.Value)
		}
		got, err := snapshotFrom(form)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
