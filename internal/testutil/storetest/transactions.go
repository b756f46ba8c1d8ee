package storetest

import (
	"runtime"
	"strings"
	"sync"
	"time"
)

// Transactions counts the views and updates of a deployment that requests open. Each transaction
// reads the clock of the store once at its beginning, and the stack of that call shows its origin.
// Not counted are:
//   - transactions that authenticate a request,
//   - transactions of the background work of index and queue, and of the test itself,
//   - transactions of the index, which have separate connections.
type Transactions struct {
	Handler string // a function on the stack of each request, as "net/http.(*conn).serve"

	mu             sync.Mutex
	views, updates int
}

// Watch returns a counting clock. It must be the clock of the store.
func (c *Transactions) Watch(now func() time.Time) func() time.Time {
	return func() time.Time {
		c.note()
		return now()
	}
}

// note counts the transaction that reads the clock. The functions on its stack are, from the
// innermost: Now, the beginning of the transaction, the method of the store, the request.
func (c *Transactions) note() {
	const store = "/internal/store/sqldb.(*DB)."
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var begins, method, inner string
	request := false
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		_, name, _ := strings.Cut(frame.Function, store)
		switch {
		case strings.Contains(frame.Function, "/internal/auth.(*Authenticator)."):
			return
		case strings.Contains(frame.Function, c.Handler):
			request = true
		case inner == "Now":
			begins = name
		case method == "" && (name == "View" || name == "Update" || name == "ViewForIndex"):
			method = name
		}
		inner = name
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !request:
	case method == "View" && strings.Contains(begins, "viewBy"):
		c.views++
	case method == "Update" && begins == "Writer": // not its later readings
		c.updates++
	}
}

// During returns the number of transactions that requests open while do runs.
func (c *Transactions) During(do func()) (views, updates int) {
	c.mu.Lock()
	views, updates = c.views, c.updates
	c.mu.Unlock()
	do()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.views - views, c.updates - updates
}
