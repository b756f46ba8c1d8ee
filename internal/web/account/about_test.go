package account

import "testing"

func TestAboutListsThirdParties(t *testing.T) {
	if len(parts()) < 10 {
		t.Errorf("others made %v", parts())
	}
}
