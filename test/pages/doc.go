// Package pages tests the pages of package web over HTTP, and in a browser where one is installed. Each test serves all
// pages on a store of its own.
package pages
