/** Variables of the cases. */
export const VARIABLES = {
  object: { type: "function", name: "it's", list: [1, 2.5, true, null], text: "a\nb" },
  schema: { items: { type: "string" }, values: 1, get: "g" },
  list: [3, 1, 2],
  words: ["b", "A", "c"],
  people: [
    { name: "Ann", age: 30, at: { city: "Oslo" } },
    { name: "bob", age: 20, at: { city: "Paris" } },
    { name: "Cid", at: { city: "Oslo" } },
  ],
  empty: null,
  yes: true,
  text: "  Straße 北京 🦓  ",
};

/** Templates by what they show, with the text that Python's Jinja2 3.1.6 writes of them. */
export const CASES: Record<string, [source: string, expected: string][]> = {
  "printed values": [
    ["{{ yes }} {{ not yes }} {{ empty }} {{ nothing }}|", "True False None |"],
    [
      "{{ 1 }} {{ 1.0 }} {{ 0.5 }} {{ 1 / 2 }} {{ 4 / 2 }} {{ 0.00001 }} {{ 10.0 ** 20 }}",
      "1 1.0 0.5 0.5 2.0 1e-05 1e+20",
    ],
    ["{{ object }}", `{'type': 'function', 'name': "it's", 'list': [1, 2.5, True, None], 'text': 'a\\nb'}`],
    ["{{ ('a', 1) }} {{ [] }} {{ {} }} {{ {1: 'x', none: 2} }}", "('a', 1) [] {} {1: 'x', None: 2}"],
    [`{{ ['é', "\\x07", "a'b", 'c"d', "\\\\"] }}`, `['é', '\\x07', "a'b", 'c"d', '\\\\']`],
    ["{{ 'a' ~ 1 ~ none ~ true ~ [1] ~ nothing }}", "a1NoneTrue[1]"],
  ],
  comparisons: [
    [
      "{{ 1 == true }} {{ 1 == 1.0 }} {{ '1' == 1 }} {{ none == nothing }} {{ nothing == unknown }}",
      "True True False False True",
    ],
    [
      "{{ [1, {'a': 2}] == [1, {'a': 2}] }} {{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }} {{ [1] != [2] }}",
      "True True True",
    ],
    ["{{ 'Z' < 'a' }} {{ [1, 2] < [1, 3] }} {{ 2 > true }}", "True True True"],
    ["{{ [1] in [[1], 2] }} {{ 'a' in {'a': 1} }} {{ 'b' not in 'abc' }} {{ 1 in nothing }}", "True True False False"],
  ],
  arithmetic: [
    ["{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7.5 % 2 }} {{ 2 ** 3 }} {{ 2 ** -1 }}", "3 -4 2 1.5 8 0.5"],
    ["{{ 'ab' * 2 }} {{ 2 * [1] }} {{ true + 1 }} {{ 'a' + 'b' }} {{ [1] + [2] }}", "abab [1, 1] 2 ab [1, 2]"],
    ["{{ '%s is %d of %05.1f%%' % ('x', 3, 9.26) }} {{ '%r' % 'q' }}", "x is 3 of 009.3% 'q'"],
  ],
  members: [
    [
      "{{ schema.items is callable }} {{ schema['items'].type }} {{ schema.get('get') }} {{ schema.get('no', 5) }}",
      "True string g 5",
    ],
    [
      "{{ text.strip()[-1] }} {{ text.strip()[0:3] }} {{ text.strip()[::-1][0] }} {{ list[::-1] }} {{ list[5] }}|",
      "🦓 Str 🦓 [2, 1, 3] |",
    ],
    ["{{ {'a': 1}['b'] }}|{{ {1: 'x'}[1] }} {{ list[-1] }} {{ object.list.0 }} {{ people[nothing] }}|", "|x 2 1 |"],
  ],
  "methods of texts": [
    [
      "{{ ' a b  c '.split() }} {{ 'a,b,,c'.split(',', 1) }} {{ 'a.b.c'.rsplit('.', 1) }}",
      "['a', 'b', 'c'] ['a', 'b,,c'] ['a.b', 'c']",
    ],
    [
      "{{ 'xxaxx'.strip('x') }} {{ 'xxa'.lstrip('x') }} {{ 'axx'.rstrip('x') }} {{ 'abc'.removeprefix('a') }}",
      "a a a bc",
    ],
    [
      "{{ 'a-b'.partition('-') }} {{ ', '.join(['a', 'b']) }} {{ 'aXbX'.replace('X', '$&', 1) }}",
      "('a', '-', 'b') a, b a$&bX",
    ],
    [
      "{{ 'abc'.find('c') }} {{ 'abc'.find('x') }} {{ 'abab'.count('ab') }} {{ '12'.isdigit() }} {{ 'a1'.isalpha() }}",
      "2 -1 2 True False",
    ],
    [
      "{{ '<x{}>{}'.format(':y', 1) }} {{ '{0}{1}{0} {n}'.format('a', 'b', n=3) }} {{ '{{}}'.format() }}",
      "<x:y>1 aba 3 {}",
    ],
    [
      "{{ 'aBC dEF'.title() }} {{ 'aBC'.capitalize() }} {{ '7'.zfill(3) }} {{ 'ab'.startswith(('x', 'a')) }}",
      "Abc Def Abc 007 True",
    ],
    ["{{ 'a\\nb\\r\\nc\\n'.splitlines() }}", "['a', 'b', 'c']"],
  ],
  "methods of lists and dictionaries": [
    [
      "{%- set ids = [] -%}{%- set _ = ids.append('a') -%}{%- set _ = ids.extend(['b', 'c']) -%}{{ ids.pop(0) }}{{ ids }}",
      "a['b', 'c']",
    ],
    [
      "{%- set d = {'a': 1} -%}{%- set _ = d.update({'b': 2}) -%}{{ d.pop('a') }} {{ d.items() | list }} {{ d.setdefault('c', 3) }} {{ d }}",
      "1 [('b', 2)] 3 {'b': 2, 'c': 3}",
    ],
    ["{{ dict(a=1, b=[2]) }} {{ ['a', 'b'].index('b') }} {{ [1, 1, 2].count(1) }}", "{'a': 1, 'b': [2]} 1 2"],
  ],
  "filters of texts": [
    [
      "{{ nothing | upper }}|{{ none | upper }} {{ yes | string | lower }} {{ 12 | string | length }} {{ text | trim | length }}",
      "|NONE true 2 11",
    ],
    [
      "{{ 'a\\n\\nb' | indent(2) }}|{{ 'a\\nb' | indent(2, true) }}|{{ 'a\\nb' | indent('> ') }}",
      "a\n\n  b|  a\n  b|a\n> b",
    ],
    [
      "{{ 'a b' | replace(' ', '_') }} {{ 'x' | center(5) }}| {{ '%s!' | format('a') }} {{ 'a b_c' | wordcount }}",
      "a_b   x  | a! 2",
    ],
    [
      "{{ 'a<b>' | e }} {{ 'xxaxx' | trim('x') }} {{ 'abc' | reverse }} {{ 'a b' | urlencode }}",
      "a&lt;b&gt; a cba a%20b",
    ],
  ],
  "filters of numbers": [
    [
      "{{ '12' | int }} {{ 'x' | int(7) }} {{ ' 3.9 ' | int }} {{ 3.9 | int }} {{ '1.5' | float }} {{ 'x' | float }}",
      "12 7 3 3 1.5 0.0",
    ],
    [
      "{{ (-3) | abs }} {{ 2.5 | round }} {{ 3.5 | round }} {{ 2.123 | round(2) }} {{ 2.1 | round(0, 'ceil') }}",
      "3 2.0 4.0 2.12 3.0",
    ],
  ],
  "filters of lists": [
    [
      "{{ list | sort }} {{ words | sort }} {{ words | sort(case_sensitive=true) }} {{ list | sort(reverse=true) }}",
      "[1, 2, 3] ['A', 'b', 'c'] ['A', 'b', 'c'] [3, 2, 1]",
    ],
    [
      "{{ people | map(attribute='at.city') | unique | join(', ') }} {{ words | map('upper') | join }}",
      "Oslo, Paris BAC",
    ],
    ["{{ people | map(attribute='age', default=0) | sum }} {{ people | sum(attribute='at.x') if false }}", "50 "],
    [
      "{{ people | selectattr('age', 'defined') | map(attribute='name') | list }} {{ people | rejectattr('age') | list | length }}",
      "['Ann', 'bob'] 1",
    ],
    [
      "{{ people | selectattr('at.city', 'equalto', 'Oslo') | list | length }} {{ list | select('gt', 1) | list }} {{ list | reject('odd') | list }}",
      "2 [3, 2] [2]",
    ],
    [
      "{{ list | min }} {{ list | max }} {{ words | min }} {{ people | max(attribute='name') | attr('x') }}|",
      "1 3 A |",
    ],
    [
      "{{ list | first }} {{ list | last }} {{ [] | first }}|{{ 'ab' | list }} {{ list | batch(2) | list }}",
      "3 2 |['a', 'b'] [[3, 1], [2]]",
    ],
    [
      "{{ [1, none, 'a'] | join('-') }} {{ {'b': 1, 'a': 2} | dictsort }} {{ {'b': 1, 'a': 2} | dictsort(by='value') }}",
      "1-None-a [('a', 2), ('b', 1)] [('b', 1), ('a', 2)]",
    ],
    [
      "{{ {'a': 1} | items | list }} {{ nothing | list }} {{ nothing | length }} {{ {'a': 1} | list }}",
      "[('a', 1)] [] 0 ['a']",
    ],
    [
      "{% for city, group in people | groupby('at.city') %}{{ city }}:{{ group | length }} {% endfor %}",
      "Oslo:2 Paris:1 ",
    ],
    [
      "{%- set gears = {512: 'b', 16: 'a', 1024: 'c'} -%}{%- for k, v in gears | dictsort -%}{{ k + 1 }}{{ v }} {% endfor -%}{{ gears[16] }}",
      "17a 513b 1025c a",
    ],
  ],
  defaults: [
    [
      "{{ nothing | default('d') }} {{ '' | default('d') }}| {{ '' | default('d', true) }} {{ none | default('d') }} {{ nothing | d }}|",
      "d | d None |",
    ],
  ],
  json: [
    ["{{ object | tojson }}", `{"type": "function", "name": "it's", "list": [1, 2.5, true, null], "text": "a\\nb"}`],
    [
      "{{ {'b': [1, {}], 'a': []} | tojson(indent=2, sort_keys=true) }}",
      '{\n  "a": [],\n  "b": [\n    1,\n    {}\n  ]\n}',
    ],
    [
      "{{ {'a': '<é&\\x7f🦓>'} | tojson }} {{ ['é🦓'] | tojson(ensure_ascii=true) }}",
      '{"a": "<é&\x7f🦓>"} ["\\u00e9\\ud83e\\udd93"]',
    ],
    ["{{ {'a': [1, 2.0]} | tojson(separators=(',', ':')) }} {{ 0.1 | tojson }}", '{"a":[1,2.0]} 0.1'],
  ],
  tests: [
    [
      "{{ {} is iterable }} {{ 'a' is iterable }} {{ 1 is iterable }} {{ {} is sequence }} {{ {} is mapping }}",
      "True True False True True",
    ],
    [
      "{{ true is number }} {{ true is integer }} {{ 1 is integer }} {{ 1.0 is float }} {{ none is none }} {{ '' is string }}",
      "True False True True True True",
    ],
    [
      "{{ 9 is divisibleby(3) }} {{ 9 is not divisibleby 2 }} {{ 1 is in [1, 2] }} {{ 'x' is not in ['x'] }} {{ 3 is eq 3 }}",
      "True True True False True",
    ],
    [
      "{{ none is sameas none and true }} {{ 2 is odd or 2 is even }} {{ nothing is defined }} {{ 'a' is lower }} {{ 1 is lt(2) }}",
      "True True False True True",
    ],
    [
      "{{ 'yes' if object.name is defined and object.name is not none else 'no' }} {{ list is not string }}",
      "yes True",
    ],
  ],
  loops: [
    [
      "{% for c in 'ab' %}{{ c }}{{ loop.index }}/{{ loop.length }} {% endfor %}{% for k in {'x': 1} %}{{ k }}{% endfor %}",
      "a1/2 b2/2 x",
    ],
    ["{% for x in list %}{% if loop.first %}{% set y = x %}{% endif %}{{ y }};{% endfor %}{{ y }}|", "3;;;|"],
    ["{% for x in list %}a{% if x == 1 %}b{% continue %}{% endif %}c{% endfor %}", "acabac"],
    ["{% for x in list %}a{% if x == 1 %}b{% break %}{% endif %}c{% endfor %}", "acab"],
    ["{% for x in list if x > 1 %}{{ x }}{{ loop.last }} {% else %}none{% endfor %}", "3False 2True "],
    ["{% for x in [] %}{% else %}none{% endfor %}{% for x in nothing %}{% else %}!{% endfor %}", "none!"],
    ["{% for x in list %}{% continue %}{% else %}none{% endfor %}|", "none|"],
    ["{% for x in list %}{{ loop.cycle('a', 'b') }}{{ loop.changed(x > 1) }} {% endfor %}", "aTrue bTrue aTrue "],
    ["{% for x in list %}{{ loop.previtem }}{{ loop.nextitem }} {% endfor %}", "1 32 1 "],
  ],
  scopes: [
    ["{% macro m() %}{{ x }}{% endmacro %}{% for x in [1] %}{{ m() }}{% endfor %}|", "|"],
    ["{% set x = 2 %}{% macro m(y, z=3) %}{{ x }}{{ y }}{{ z }}{% endmacro %}{{ m(1) }} {{ m(y=4, z=5) }}", "213 245"],
    ["{% macro m() %}<{{ caller('a') }}>{% endmacro %}{% call(x) m() %}{{ x }}!{% endcall %}", "<a!>"],
    ["{% set ns = namespace(n=0) %}{% for x in list %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}", "6"],
    ["{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(2) }}", "210"],
    ["{% filter upper %}a{{ 1 }}{% endfilter %} {% set a, b = 1, 2 %}{{ b }}{{ a }}", "A1 21"],
  ],
};
