package admin

import (
	"testing"

	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }
