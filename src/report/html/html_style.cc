#include "report/html/html_parts.h"

namespace gpuready {

const std::string_view kHtmlStyle = R"css(
:root{color-scheme:light dark;--page:#f5f6f8;--card:#fff;--text:#16191d;--soft:#5b6470;--line:#e2e5ea;
--track:#e9ecf0;--good:#14804a;--good-bg:#e3f5eb;--warn:#8f5a00;--warn-bg:#fdf1d8;--bad:#c0262d;
--bad-bg:#fde8e8;--neutral:#566070;--neutral-bg:#eceff3;--accent:#2559c7;--code:#f1f3f6;
--c0:#2559c7;--c1:#c2560c;--c2:#7a3fc0;--c3:#0b7d84;
--shadow:0 1px 2px rgba(20,25,35,.06),0 4px 16px rgba(20,25,35,.05)}
@media(prefers-color-scheme:dark){:root{--page:#0e1116;--card:#161b22;--text:#e7eaee;--soft:#98a2b0;
--line:#272e38;--track:#262d37;--good:#4cc38a;--good-bg:#10301f;--warn:#e2b340;--warn-bg:#35280a;
--bad:#ff7b7b;--bad-bg:#3b1618;--neutral:#a3adba;--neutral-bg:#232a33;--accent:#7fa7ff;--code:#0e1319;--c0:#7fa7ff;--c1:#f0a05a;--c2:#c39bf5;--c3:#4fc9cf;

--shadow:none}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main,.top{max-width:1120px;margin:0 auto;padding:0 20px}
.top{display:flex;flex-wrap:wrap;gap:4px 16px;align-items:baseline;padding-top:22px;padding-bottom:14px}
.brand{font-weight:750;font-size:19px;letter-spacing:-.02em}.brand i{color:var(--good);font-style:normal}
.top .meta{color:var(--soft);font-size:13px;margin-left:auto;overflow-wrap:anywhere}
h1{font-size:25px;line-height:1.25;letter-spacing:-.015em;margin:0;overflow-wrap:anywhere}
h2{font-size:17px;margin:34px 0 12px}h3{font-size:16px;margin:0;overflow-wrap:anywhere}
h4{font-size:13px;margin:0 0 6px;color:var(--soft);text-transform:uppercase;letter-spacing:.05em}
p{margin:8px 0;overflow-wrap:anywhere}
.card{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:18px;
box-shadow:var(--shadow)}
.hero{display:flex;gap:18px;align-items:flex-start;padding:24px;border-left:6px solid var(--tone)}
.hero .icon{width:44px;height:44px}.hero p{margin:6px 0 0;color:var(--soft)}
.good{--tone:var(--good);--tint:var(--good-bg)}.warn{--tone:var(--warn);--tint:var(--warn-bg)}
.bad{--tone:var(--bad);--tint:var(--bad-bg)}.neutral{--tone:var(--neutral);--tint:var(--neutral-bg)}
td.bad,p.warn{color:var(--tone);font-weight:600}
.chips{display:flex;flex-wrap:wrap;gap:6px;margin:14px 0 0;padding:0;list-style:none}
.chips li{background:var(--neutral-bg);border-radius:6px;padding:2px 9px;font-size:13px;
overflow-wrap:anywhere;min-width:0}
.faked{background:repeating-linear-gradient(-45deg,var(--warn-bg) 0 14px,transparent 14px 28px);
border:2px solid var(--warn);color:var(--warn);border-radius:12px;padding:12px 18px;font-weight:700;
margin-bottom:14px}
.icon{flex:none;width:22px;height:22px;fill:none;stroke:var(--tone);stroke-width:2.2;
stroke-linecap:round;stroke-linejoin:round}.icon circle{fill:var(--tint);stroke:none}
.pill{flex:none;background:var(--tint);color:var(--tone);border-radius:99px;padding:2px 10px;
font-size:12.5px;font-weight:650;white-space:nowrap}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(330px,100%),1fr));gap:14px}
.gpu{border-top:3px solid var(--tone);min-width:0}
.gpu header,.finding header{display:flex;gap:12px;align-items:flex-start;justify-content:space-between}
.gpu header>div,.finding header>div{min-width:0;flex:1}
.index{color:var(--soft);font-size:13px;font-weight:600}
.why{color:var(--tone);font-size:14px}
.stats{display:grid;grid-template-columns:repeat(auto-fit,minmax(88px,1fr));gap:8px 14px;margin:14px 0}
.stats dt{color:var(--soft);font-size:12px}.stats dd{margin:0;font-weight:600;
font-variant-numeric:tabular-nums}
.meter{margin:10px 0}.meter-text{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 10px;
font-size:13px}.meter-text span{color:var(--soft)}
.meter-text span::first-letter{text-transform:uppercase}
.meter-text b{font-weight:600;font-variant-numeric:tabular-nums}
.bar{position:relative;height:8px;background:var(--track);border-radius:4px;margin-top:3px}
.fill{display:block;height:100%;background:var(--tone);border-radius:4px}
.limit{position:absolute;inset:-3px 0;display:flex}.limit>*{flex:none;height:auto}.mark{width:2px;background:var(--text)}
.plot{width:100%;max-width:640px}
.id{color:var(--soft);font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;
overflow-wrap:anywhere;margin-bottom:0}
.finding{border-left:5px solid var(--tone);margin-bottom:14px}.finding .id{margin-top:2px}
figure{margin:12px 0}figcaption{font-size:12.5px;color:var(--soft);overflow-wrap:anywhere}
blockquote{margin:4px 0 0;border-left:3px solid var(--line)}
pre{margin:0;padding:10px 12px;background:var(--code);border-radius:0 8px 8px 0;overflow-x:auto;
font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre-wrap;
overflow-wrap:anywhere}
.command{display:flex;align-items:stretch;gap:8px}.command pre{flex:1;border-radius:8px;
border:1px solid var(--line);user-select:all;min-width:0}
button{font:inherit;font-size:13px;font-weight:600;color:var(--accent);background:var(--card);
border:1px solid var(--line);border-radius:8px;padding:0 14px;cursor:pointer}
button:hover{border-color:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
details>summary{cursor:pointer}
.explains{margin-top:12px}.explains>summary,.card>details>summary{color:var(--accent);font-size:14px;
font-weight:600}
.inner{border-left:3px solid var(--line);padding:4px 0 4px 14px;margin:12px 0}
.inner h4{color:var(--text);text-transform:none;letter-spacing:0;font-size:14px;overflow-wrap:anywhere}
.row{margin-bottom:8px;padding:12px 16px}.row>summary{display:flex;gap:12px;align-items:center;
list-style:none}.row>summary::-webkit-details-marker{display:none}
.row>summary::after{content:"";flex:none;width:8px;height:8px;border:solid var(--soft);
border-width:0 2px 2px 0;transform:rotate(45deg) translateY(-2px)}
.row[open]>summary::after{transform:rotate(225deg)}
.grow{flex:1;min-width:0;overflow-wrap:anywhere}.quiet{display:flex;gap:12px;align-items:center}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:13.5px;min-width:100%}.scroll td{max-width:32rem;overflow-wrap:break-word}
th,td{text-align:left;padding:6px 12px 6px 0;border-bottom:1px solid var(--line);vertical-align:top;
font-variant-numeric:tabular-nums}thead th{color:var(--soft);font-weight:600;font-size:12.5px}
tbody tr:last-child>*{border-bottom:0}
.mono td,.matrix{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:12.5px}
.matrix th,.matrix td{white-space:nowrap}
.facts{columns:3 300px;column-gap:28px;margin-top:14px}.facts section{break-inside:avoid;
margin-bottom:18px}.facts dl{margin:0}.facts dl div{display:flex;gap:12px;justify-content:space-between;
border-bottom:1px solid var(--line);padding:3px 0;font-size:13.5px}
.facts dt{color:var(--soft);flex:none;max-width:55%;overflow-wrap:anywhere}
.facts dd{margin:0;text-align:right;overflow-wrap:anywhere;min-width:0}
.legend{list-style:none;padding:0;margin:10px 0 0;font-size:13px;color:var(--soft)}
.legend b{display:inline-block;min-width:52px;color:var(--text)}
.topology{display:block;margin:0 auto;font-size:13px}
.topology text{fill:var(--text);text-anchor:middle}.topology .start{text-anchor:start}
.topology .label{font-size:11.5px;fill:var(--soft)}.topology .gpu-index{font-weight:700}
.topology .gpu-name{font-size:11.5px;fill:var(--soft)}.topology .group-name{font-weight:600;font-size:12px;fill:var(--soft)}
.gpu-box{fill:var(--card);stroke:var(--tone);stroke-width:1.6}.strip{fill:var(--tone)}
.group{fill:var(--neutral-bg);stroke:var(--line)}.switch{fill:var(--accent)}
.topology .on-switch{fill:var(--card);font-weight:700}
.nvlink{stroke:var(--accent);stroke-width:4;fill:none}.arc{stroke-width:3;opacity:.75}
.pcie{stroke:var(--soft);stroke-width:2}.pcie.narrow{stroke:var(--warn);stroke-dasharray:4 3}
.topology .narrow{fill:var(--warn);font-weight:700}.between{stroke:var(--soft);stroke-width:2;
stroke-dasharray:3 3}
table.tests{margin-bottom:0}.scroll+.row,.scroll+.fold{margin-top:10px}table.tests td,table.tests th{white-space:nowrap}.cell .icon{width:16px;height:16px;
vertical-align:-3px;margin-right:5px}.cell span{color:var(--tone)}.cell span.good{color:inherit}
.figure{display:block;color:var(--soft);font-size:13px}
.fold{margin-bottom:8px}.fold>summary{padding:10px 17px;display:flex;gap:12px;align-items:center;list-style:none}
.fold>summary::-webkit-details-marker{display:none}.fold>summary:hover{color:var(--accent)}
.fold[open]{border-left:3px solid var(--line);padding-left:10px}
.mini{list-style:none;margin:10px 0;padding:0;font-size:13.5px}.mini li{display:flex;gap:8px;padding:2px 0;
align-items:baseline}.mini .icon{width:15px;height:15px;align-self:center}.mini span{color:var(--soft);
min-width:0;overflow-wrap:anywhere}.mini .bad,.mini .warn{color:var(--tone)}
.curves{margin-bottom:14px}.curves>p{font-size:14px;color:var(--soft)}.curves>p.warn{color:var(--tone)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(320px,100%),1fr));gap:18px 22px;
margin-top:12px}
.chart{margin:0;min-width:0}.chart svg{display:block;width:100%;max-width:560px;height:auto;overflow:visible}
.chart figcaption b{color:var(--text);font-size:13.5px}
.chart ul{list-style:none;margin:2px 0 4px;padding:0;display:flex;flex-wrap:wrap;gap:0 14px}
.chart li i{display:inline-block;width:12px;height:3px;border-radius:2px;margin-right:5px;vertical-align:3px;
background:var(--c)}
.chart text{font-size:10.5px;fill:var(--soft);font-variant-numeric:tabular-nums}
.chart .end{text-anchor:end}.chart .middle{text-anchor:middle}
.c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}
.curve{fill:none;stroke:var(--c);stroke-width:1.5;stroke-linejoin:round}.dot{fill:var(--c)}
.chart .grid{stroke:var(--line);stroke-width:1;fill:none}
.chart .limit{stroke:var(--bad);stroke-width:1;stroke-dasharray:5 4}.chart .limit-text{fill:var(--bad)}
.xid{stroke:var(--bad);stroke-width:1.5}.chart .xid-text{fill:var(--bad);font-weight:700}
.span{fill:var(--tint);stroke:var(--tone);stroke-width:.8}.chart .span-text{fill:var(--tone);font-size:10px}
footer{color:var(--soft);font-size:13px;padding:26px 0 40px}
@media(max-width:640px){main,.top{padding-left:14px;padding-right:14px}.hero{padding:18px;gap:14px}
.hero .icon{width:34px;height:34px}h1{font-size:20px}.top .meta{margin-left:0}.card{padding:14px}
.command{flex-direction:column}button{padding:8px}.topology{margin:0}}
@media print{body{background:#fff}.card{box-shadow:none;break-inside:avoid}button{display:none}}
)css";

// Adds a button to each command: without a script there is none that does nothing.
const std::string_view kHtmlScript = R"js(
document.querySelectorAll('.command').forEach(function (box) {
  var button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', function () {
    var code = box.querySelector('code');
    var done = function () {
      button.textContent = 'Copied';
      setTimeout(function () { button.textContent = 'Copy'; }, 1500);
    };
    var select = function () {
      var range = document.createRange();
      range.selectNodeContents(code);
      var selection = getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      if (document.execCommand('copy')) done();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, select);
    else select();
  });
  box.appendChild(button);
});
)js";

}  // namespace gpuready
