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

// News tells on an open page what came since it was opened. The page itself
// stays as it is until its reader asks for more.
type News struct {
	Words   string // what is new or gone; empty while nothing is
	New     int    // as Words says it
	Gone    int
	Self    string // address of the page
	Address string // to ask again
}

// NewsOf begins to follow a page that shows so many findings. The values say what it lists;
// none stand for the overview.
func NewsOf(req *ui.Request, view *index.View, self string, lists url.Values, total int) (News, error) {
	var at time.Time // of the newest commit, or later: the clock alone may be behind it
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
