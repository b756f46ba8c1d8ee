package notify

import (
	"context"
	"errors"

	"github.com/redoubt/redoubt"
)

// Mail is how mail is sent.
type Mail struct {
	Host string // empty: no mail is sent
	From string
}

// Works reports whether mail can be sent.
func (m Mail) Works() bool { return m.Host != "" && m.From != "" }

func (d *delivery) mail(ctx context.Context, list []redoubt.Notification) error {
	return errors.New("this server sends no mail")
}
