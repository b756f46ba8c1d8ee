package config_test

import (
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/config"
)

func TestOutboundNetworks(t *testing.T) {
	for _, c := range []struct {
		settings []string
		want     string
	}{
		{[]string{"public"}, "false []"},
		{[]string{"public", "private"}, "true []"},
		{[]string{"loopback"}, "false [127.0.0.0/8 ::1/128]"},
		{[]string{"10.1.2.3/8"}, "false [10.0.0.0/8]"},
	} {
		private, also, err := config.Outbound{ConnectTo: c.settings}.Networks()
		if got := fmt.Sprint(private, also); got != c.want || err != nil {
			t.Errorf("%v is %s, %v; want %s", c.settings, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "everything", "10.0.0.1", "10.0.0.0/33"} {
		if _, _, err := (config.Outbound{ConnectTo: []string{bad}}).Networks(); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
