// Package ui serves requests for pages: it authenticates the viewer, runs the handler of a route
// and renders its template. It contains what all areas share: sessions, navigation, forms, error
// pages, assets and template functions.
//
// Pages are rendered by html/template and are readable without JavaScript; htmx replaces parts of
// them. The content security policy allows only resources of the server itself, without inline
// code. Templates escape all text from scanners, and links from scanners pass through safeURL.
package ui
