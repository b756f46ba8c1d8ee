package api

import (
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// values encodes the parameters of a query struct. Zero values are omitted, so the server applies
// the defaults.
func values(query any) url.Values {
	out := url.Values{}
	addFields(out, reflect.ValueOf(query))
	return out
}

func addFields(out url.Values, v reflect.Value) {
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous {
			addFields(out, v.Field(i))
			continue
		}
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("query"), ",")
		field := v.Field(i)
		switch f := field.Interface().(type) {
		case Optional[bool]:
			if f.Set {
				out.Set(name, strconv.FormatBool(f.Value))
			}
		case float64:
			if f != 0 {
				out.Set(name, strconv.FormatFloat(f, 'f', -1, 64))
			}
		default:
			add(out, name, field)
		}
	}
}

func add(out url.Values, name string, field reflect.Value) {
	if field.Kind() == reflect.Slice {
		for i := range field.Len() {
			out.Add(name, fmt.Sprint(field.Index(i).Interface()))
		}
		return
	}
	if !field.IsZero() {
		out.Set(name, fmt.Sprint(field.Interface()))
	}
}
