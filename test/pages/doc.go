// Package pages tests the pages of package web over HTTP, and in a browser if one is installed.
// Each test serves the pages with a store of its own.
package pages
