package component

import (
	"context"
	"maps"
	"net/url"
	"strconv"
	"time"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// News counts the findings that changed since a page was opened. The page itself stays unchanged
// until the user reloads it.
type News struct {
	Words   string // describes new and resolved findings; empty if there are none
	New     int    // number of new findings, as in Words
	Gone    int
	Self    string // address of the page
	Address string // address for the next poll
}

// NewsOf starts following a page that shows total findings. lists is the query of the page; nil
// means the overview.
func NewsOf(req *ui.Request, view *index.View, self string, lists url.Values, total int) (News, error) {
	var at time.Time // the newest commit's time or later, as the clock may lag behind it
	err := req.View(func(_ context.Context, tx *store.Tx) error {
		at = tx.Now()
		return nil
	})
	q := url.Values{
		"version": {ui.Decimal(view.Version())},
		"at":      {ui.Decimal(at.UnixMicro() + 1)},
		"had":     {strconv.Itoa(total)},
	}
	maps.Copy(q, lists)
	return News{Self: self, Address: req.To("/news?" + q.Encode())}, err
}
