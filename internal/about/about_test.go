package about

import (
	"os"
	"testing"
)

func TestLicenseMatchesRepository(t *testing.T) {
	text, err := os.ReadFile("../../LICENSE")
	if err != nil || string(text) != License {
		t.Errorf("LICENSE differs from the one at the top of the repository, %v", err)
	}
}
