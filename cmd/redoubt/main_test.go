package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestMain(m *testing.M) {
	countStatements()
	testscript.Main(storetest.Tests{M: m}, map[string]func(){"redoubt": main})
}
