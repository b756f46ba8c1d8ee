module example.org/app

go 1.22

require example.org/one v1.0.0
require (
	example.org/two v2.0.0+incompatible // indirect
	"example.org/three" v0.0.0-20200101000000-abcdefabcdef // indirect; why
	example.org/BigCase v1.2.3
	broken
	example.org/empty v
)
replace example.org/one => example.org/fork v1.0.1
replace example.org/BigCase v1.2.3 => ../local
exclude example.org/two v1.9.0
retract v0.9.0
