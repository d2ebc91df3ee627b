use super::*;

/// The outline of a whole file, one definition a line.
fn check(path: &str, text: &str, expected: &str) {
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let found = definitions(path, &lines);
    let listed: Vec<String> =
        found.iter().map(|found| format!("{}{} {}", "  ".repeat(found.depth), found.line, found.text)).collect();
    assert_eq!(listed.join("\n"), expected.trim_matches('\n'), "{path}");
}

#[test]
fn rust() {
    check(
        "src/a.rs",
        r#"//! fn in_docs()
pub struct Unit;
pub(crate) struct Point<'a> {
    x: &'a str,
}
impl<'a> Point<'a> {
    pub const fn new(x: &'a str) -> Self {
        if x == "fn no() {" { return Self { x } }
        fn inner() {}
        Self { x }
    }

    async fn long(
        &self,
    ) -> bool
    where
        Self: Sized,
    {
        true
    }
}
const X: char = '{';
extern "C" fn callback() {}
trait Shape {
    fn area(&self) -> f64;
    fn name(&self) -> &str { "x" }
}
macro_rules! three {
    () => {};
}
pub unsafe trait Marker {}
mod tests {
    /* fn commented() { */
    fn a_fact() {}
}
"#,
        "
2 pub struct Unit;
3 pub(crate) struct Point<'a>
6 impl<'a> Point<'a>
  7 pub const fn new(x: &'a str) -> Self
    9 fn inner() {}
  13 async fn long(
23 extern \"C\" fn callback() {}
24 trait Shape
  25 fn area(&self) -> f64;
  26 fn name(&self) -> &str { \"x\" }
28 macro_rules! three
31 pub unsafe trait Marker {}
32 mod tests
  34 fn a_fact() {}
",
    );
}

#[test]
fn python_ruby_and_lua_nest_by_indentation() {
    check(
        "a.py",
        "\"\"\"Docs:\ndef not_this(): pass\n\"\"\"\nimport os\nclass A(Base):\n    x = 'def no():'\n    # def no()\n\n    def m(self):\n        def inner():\n            pass\n        return inner\n    async def n(self): ...\ndef top(a,\n        b): pass\nclassify = 1\n",
        "\n5 class A(Base):\n  9 def m(self):\n    10 def inner():\n  13 async def n(self): ...\n14 def top(a,\n",
    );
    check(
        "a.rb",
        "module M\n  class A < B\n    def self.make\n    end\n    private def x?\n    end\n  end\nend\ndef top; end\n",
        "\n1 module M\n  2 class A < B\n    3 def self.make\n    5 private def x?\n9 def top; end\n",
    );
    check(
        "a.lua",
        "--[[\nfunction no()\n]]\nlocal function a()\nend\nfunction M.b()\nend\n",
        "\n4 local function a()\n6 function M.b()\n",
    );
}

#[test]
fn typescript() {
    check(
        "a.ts",
        "import { x } from 'y';\nexport interface Shape {\n  area(): number;\n}\nexport default class A<T> extends B {\n  private items: T[] = [];\n  constructor(private x: number) {\n    super();\n    if (x) {\n      call(function () {\n      });\n    }\n  }\n  async load(a: string): Promise<void> {\n    const inner = () => 1;\n  }\n  get size(): number {\n    return 1;\n  }\n  handler = async (e: Event) => {\n  };\n}\nexport const useIt = (a: number) => {\n  return a;\n};\nconst text = `\nfunction no() {\n`;\nfunction plain(a) {\n  for (const b of a) {\n  }\n}\nexport type Id = string;\nenum E { A, B }\n",
        "\n2 export interface Shape\n5 export default class A<T> extends B\n  7 constructor(private x: number)\n  14 async load(a: string): Promise<void>\n  17 get size(): number\n  20 handler = async (e: Event) =>\n23 export const useIt = (a: number) =>\n29 function plain(a)\n33 export type Id = string;\n34 enum E { A, B }\n",
    );
}

#[test]
fn java_kotlin_and_csharp() {
    check(
        "A.java",
        "package a.b;\n@Deprecated\npublic final class A extends B implements C {\n    private static final int X = compute(1);\n    public A(int x) {\n        this.x = new Thing(x);\n    }\n    @Override public <T> List<T> get(Map<String, T> m) throws E {\n        for (int i = 0; i < 3; i++) { call(i); }\n        return m.get(1);\n    }\n    enum Kind { ONE }\n    interface In {\n        void run(int a);\n    }\n}\n",
        "\n3 public final class A extends B implements C\n  5 public A(int x)\n  8 @Override public <T> List<T> get(Map<String, T> m) throws E\n  12 enum Kind { ONE }\n  13 interface In\n",
    );
    check(
        "A.kt",
        "data class P(val x: Int)\nobject O {\n    suspend fun go(a: Int): String {\n        return \"fun no()\"\n    }\n}\nfun P.plus(o: P) = P(x + o.x)\nenum class E { A }\n",
        "\n1 data class P(val x: Int)\n2 object O\n  3 suspend fun go(a: Int): String\n7 fun P.plus(o: P) = P(x + o.x)\n8 enum class E { A }\n",
    );
    check(
        "A.cs",
        "namespace N\n{\n    public partial class A : B\n    {\n        public int X { get; set; }\n        public async Task<int> GoAsync(string s)\n        {\n            await Call(s);\n            return 1;\n        }\n    }\n}\n",
        "\n1 namespace N\n  3 public partial class A : B\n    6 public async Task<int> GoAsync(string s)\n",
    );
}

#[test]
fn c_and_cpp() {
    check(
        "a.c",
        "#include <x.h>\n#define MAX(a, b) \\\n    ((a) > (b))\nstruct point {\n    int x;\n};\nstruct point make(int x);\nstatic struct point *\nmake2(int x)\n{\n    return call(x);\n}\nint main(int argc, char **argv) {\n    if (argc) { printf(\"%d {\", argc); }\n    return helper(argc);\n}\n",
        "\n2 #define MAX(a, b) \\\n4 struct point\n13 int main(int argc, char **argv)\n",
    );
    check(
        "a.cpp",
        "namespace n {\nclass A : public B {\npublic:\n    A(int x) : x_(x) {}\n    virtual ~A() {}\n    int get() const { return x_; }\nprivate:\n    int x_;\n};\n}\nint n::A::go(int a)\n{\n    return a;\n}\ntemplate <typename T>\nT max(T a, T b) { return a > b ? a : b; }\n",
        "\n1 namespace n\n  2 class A : public B\n    4 A(int x) : x_(x) {}\n    5 virtual ~A() {}\n    6 int get() const { return x_; }\n11 int n::A::go(int a)\n16 T max(T a, T b) { return a > b ? a : b; }\n",
    );
}

#[test]
fn go_swift_php_shell_and_elixir() {
    check(
        "a.go",
        "package a\ntype S struct {\n\tx int\n}\nfunc (s *S) Get() int {\n\treturn func() int { return 1 }()\n}\nfunc main() {\n\tgo func() {\n\t}()\n}\n",
        "\n2 type S struct\n5 func (s *S) Get() int\n8 func main()\n",
    );
    check(
        "a.swift",
        "public struct A: P {\n    init?(x: Int) {\n    }\n    func go() -> Int { 1 }\n}\nextension A {\n}\n",
        "\n1 public struct A: P\n  2 init?(x: Int)\n  4 func go() -> Int { 1 }\n6 extension A\n",
    );
    check(
        "a.php",
        "<?php\nnamespace A;\nfinal class B {\n    public static function c(int $x): ?int {\n        return array_map(function ($y) {\n        }, $x);\n    }\n}\n",
        "\n2 namespace A;\n3 final class B\n  4 public static function c(int $x): ?int\n",
    );
    check(
        "a.sh",
        "#!/bin/sh\ngo() {\n  echo \"no() {\"\n}\nfunction run {\n}\nif (true); then :; fi\n",
        "\n2 go()\n5 function run\n",
    );
    check(
        "a.ex",
        "defmodule A do\n  def go(x) do\n  end\n  defp inner, do: 1\nend\n",
        "\n1 defmodule A do\n  2 def go(x) do\n  4 defp inner, do: 1\n",
    );
}

#[test]
fn documents_and_settings() {
    check(
        "README.md",
        "# Title\ntext\n## Part\n```\n# no\n```\n### Deep\n## Other\n#no\n",
        "\n1 # Title\n  3 ## Part\n    7 ### Deep\n  8 ## Other\n",
    );
    check("Cargo.toml", "[package]\nx = [\n  1,\n]\n[[bin]] # one\n# [no]\n", "\n1 [package]\n5 [[bin]] # one\n");
    assert_eq!(definitions("a.unknown", &["fn x() {}".to_owned()]), []);
    assert_eq!(definitions("Makefile", &["x: y".to_owned()]), []);
}

#[test]
fn odd_text_is_survived() {
    for path in ["a.rs", "a.py", "a.ts", "a.c", "a.java", "a.md", "a.sh", "a.toml", "a.go", "a.rb"] {
        for text in [
            "'",
            "\"",
            "'\\",
            "}}}}",
            "fn",
            "#",
            "/*",
            "`",
            "(",
            "pub(",
            "@",
            "\u{4f60}(\u{597d}) {",
            "class",
            "= (",
            "[",
            "",
        ] {
            definitions(path, &[text.to_owned(), text.repeat(3), format!("fn {text}")]);
        }
    }
}

#[test]
fn of_too_many_the_deepest_are_left_out_first() {
    let found = |line, depth: usize| Definition { line, depth, text: format!("fn f{line}()") };
    let outline = vec![found(1, 0), found(5, 1), found(6, 2), found(7, 1), found(9, 1), found(20, 1)];
    let all = ["[definitions in them:]", "  5: fn f5()", "  6:   fn f6()", "  7: fn f7()", "  9: fn f9()"];
    assert_eq!(rows(&outline, 4, 10, 1_000), all);
    let fewer = ["[3 of 4 definitions in them:]", "  5: fn f5()", "  7: fn f7()", "  9: fn f9()"];
    assert_eq!(rows(&outline, 4, 10, 28), fewer);
    assert_eq!(rows(&outline, 4, 10, 22), ["[2 of 4 definitions in them:]", "  5: fn f5()", "  7: fn f7()"]);
    assert_eq!(rows(&outline, 4, 10, 10), [""; 0]);
    assert_eq!(rows(&outline, 30, 40, 1_000), [""; 0]);
}
