package managed

import "testing"

// TestNotificationChoicesHaveLabels checks that each option has a label.
func TestNotificationChoicesHaveLabels(t *testing.T) {
	var f notificationForm
	for name, offers := range map[string][]offer{"events": f.Events(), "channels": f.Channels(), "digests": f.Digests(), "products": f.Products(), "severities": f.Severities()} {
		if len(offers) < 3 {
			t.Errorf("%s: %v", name, offers)
		}
		for _, o := range offers {
			if o.Label == "" || name != "severities" && o.Value == "" {
				t.Errorf("%s: %+v", name, o)
			}
		}
	}
}
