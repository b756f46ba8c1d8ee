package bench

import (
	"testing"

	"github.com/redoubt/redoubt/internal/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }
